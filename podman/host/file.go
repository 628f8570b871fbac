package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"mikan/wire"
)

// errNotRegular refuses directories, FIFOs, sockets and devices.
var errNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading, named absolutely or relative to Dir.
// It follows links that stay inside what the office may see, and never waits.
func (c *Computer) Open(ctx context.Context, name string) (wire.File, error) {
	f, err := c.open(ctx, name)
	if err != nil {
		return nil, nameError("open", name, err)
	}
	return f, nil
}

func (c *Computer) open(ctx context.Context, name string) (*file, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, a, err := c.resolve(name)
	if err != nil {
		return nil, err
	}
	root, rel, err := a.root(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return openRegular(root, rel)
}

// openRegular opens a regular file of root. The first look keeps it from opening
// a device, which could act on that; the second is the one that counts.
func openRegular(root *os.Root, rel string) (*file, error) {
	fi, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if err := regular(fi); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err = f.Stat()
	if err == nil {
		err = regular(fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{File: f, size: fi.Size()}, nil
}

// file is a regular file with the size that it had when it was opened.
type file struct {
	*os.File
	size int64
}

func (f *file) Size() int64 { return f.size }

// regular returns the error for what is not a regular file.
func regular(fi fs.FileInfo) error {
	switch {
	case fi.Mode().IsRegular():
		return nil
	case fi.IsDir():
		return unix.EISDIR
	}
	return errNotRegular
}

// Create starts a new content for name. Until Commit it lies in a file of
// another name beside it. Missing parents are made. If name is a link that stays
// inside what the office may see, the file it leads to is the one that is
// replaced, and the link stays; if it leads out, Create fails.
//
// The new file has the permission bits of the old one, and its owner where the
// daemon may give files away; else those of any new file.
func (c *Computer) Create(ctx context.Context, name string) (wire.Staged, error) {
	s, err := c.create(ctx, name)
	if err != nil {
		return nil, nameError("create", name, err)
	}
	s.name = name
	return s, nil
}

func (c *Computer) create(ctx context.Context, name string) (*staged, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, a, err := c.resolve(name)
	if err != nil {
		return nil, err
	}
	if !a.writable {
		return nil, errors.New("read-only in this office; write below " + c.files)
	}
	root, rel, err := a.root(path)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o777); err != nil {
		root.Close()
		return nil, err
	}
	s, err := stage(root, rel)
	if err != nil {
		root.Close()
		return nil, err
	}
	return s, nil
}
