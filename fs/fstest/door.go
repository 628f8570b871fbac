package fstest

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mikan/fs"
)

// Door is a way into a tree. Its errors are such that [fs.KindOf] knows them.
type Door interface {
	Open(ctx context.Context, name string, how fs.Flags) (File, error)
	// Create makes a file that does not exist.
	Create(ctx context.Context, name string, perm fs.FileMode, how fs.Flags) (File, error)
	Mkdir(ctx context.Context, name string, perm fs.FileMode) error
	ReadDir(ctx context.Context, name string) ([]fs.Info, error)
	Stat(ctx context.Context, name string) (fs.Info, error)
	Change(ctx context.Context, name string, c fs.Change) error
	Remove(ctx context.Context, name string) error
	// Rename gives the file another name in its directory.
	Rename(ctx context.Context, name, newname string) error
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	Sync(ctx context.Context) error
}

// Doors are the doors of one tree: its owner's and, where the way in can carry
// another identity, that of a user who owns nothing and is in no group. Without
// Other, the cases about him are skipped.
type Doors struct {
	Owner, Other Door
}

// Client is the door of an [fs.Client].
type Client struct{ *fs.Client }

// Open opens a file.
func (c Client) Open(ctx context.Context, name string, how fs.Flags) (File, error) {
	f, err := c.Client.Open(ctx, name, how)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create makes a file.
func (c Client) Create(ctx context.Context, name string, perm fs.FileMode, how fs.Flags) (File, error) {
	f, err := c.Client.Create(ctx, name, perm, how)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Mount is the door of a mounted tree: plain system calls below the directory
// that it names. Their contexts are ignored.
type Mount string

func (m Mount) path(name string) string { return filepath.Join(string(m), name) }

func flags(how fs.Flags) int {
	flag := os.O_RDONLY
	switch {
	case how&fs.Read != 0 && how&fs.Write != 0:
		flag = os.O_RDWR
	case how&fs.Write != 0:
		flag = os.O_WRONLY
	}
	if how&fs.Truncate != 0 {
		flag |= os.O_TRUNC
	}
	return flag
}

// Open opens a file.
func (m Mount) Open(_ context.Context, name string, how fs.Flags) (File, error) {
	return mountFile(os.OpenFile(m.path(name), flags(how), 0))
}

// Create makes a file.
func (m Mount) Create(_ context.Context, name string, perm fs.FileMode, how fs.Flags) (File, error) {
	return mountFile(os.OpenFile(m.path(name), flags(how)|os.O_CREATE|os.O_EXCL, perm))
}

func mountFile(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

type osFile struct{ *os.File }

func (f osFile) Sync(context.Context) error { return f.File.Sync() }

// Mkdir makes a directory.
func (m Mount) Mkdir(_ context.Context, name string, perm fs.FileMode) error {
	return os.Mkdir(m.path(name), perm)
}

// ReadDir lists a directory.
func (m Mount) ReadDir(_ context.Context, name string) ([]fs.Info, error) {
	entries, err := os.ReadDir(m.path(name))
	list := make([]fs.Info, 0, len(entries))
	for _, e := range entries {
		fi, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, osInfo(fi))
	}
	return list, err
}

// Stat describes a file.
func (m Mount) Stat(_ context.Context, name string) (fs.Info, error) {
	fi, err := os.Lstat(m.path(name))
	if err != nil {
		return fs.Info{}, err
	}
	return osInfo(fi), nil
}

func osInfo(fi os.FileInfo) fs.Info {
	return fs.Info{Name: fi.Name(), Mode: fi.Mode(), Size: fi.Size(), MTime: fi.ModTime()}
}

// Change changes attributes.
func (m Mount) Change(_ context.Context, name string, c fs.Change) error {
	if c.Size != nil {
		if err := os.Truncate(m.path(name), *c.Size); err != nil {
			return err
		}
	}
	if c.Mode != nil {
		if err := os.Chmod(m.path(name), *c.Mode); err != nil {
			return err
		}
	}
	if c.MTime != nil {
		return os.Chtimes(m.path(name), *c.MTime, *c.MTime)
	}
	return nil
}

// Remove removes a file or an empty directory.
func (m Mount) Remove(_ context.Context, name string) error { return os.Remove(m.path(name)) }

// Rename renames a file. It is rename(2): os.Rename refuses some of what that does.
func (m Mount) Rename(_ context.Context, name, newname string) error {
	return syscall.Rename(m.path(name), m.path(filepath.Join(filepath.Dir(name), newname)))
}
