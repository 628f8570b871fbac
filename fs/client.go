package fs

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"sync/atomic"
)

// Client reaches a tree by paths. It is the same type whatever lies between:
// nothing ([Tree.Client]), a socket, an inherited descriptor (package
// fs/ninep). It may be used by many goroutines; a path is slash-separated from
// the root, with or without a leading slash.
type Client struct {
	root Fid
}

// NewClient returns the client that starts at root, which is its own from now
// on.
func NewClient(root Fid) *Client { return &Client{root} }

// Close gives the root back, and with it the connection, if there is one.
func (c *Client) Close() error { return c.root.Clunk(context.Background()) }

// Walk returns a Fid on the file, which the caller clunks.
func (c *Client) Walk(ctx context.Context, name string) (Fid, error) {
	return c.root.Walk(ctx, split(name)...)
}

func split(name string) []string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

// Open opens a file.
func (c *Client) Open(ctx context.Context, name string, how Flags) (*File, error) {
	f, err := c.Walk(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := f.Open(ctx, how); err != nil {
		f.Clunk(context.WithoutCancel(ctx))
		return nil, err
	}
	return &File{fid: f}, nil
}

// Create makes a file and opens it. One that is there is opened and truncated,
// as creat(2) does it.
func (c *Client) Create(ctx context.Context, name string, perm FileMode, how Flags) (*File, error) {
	f, err := c.create(ctx, name, perm, how)
	if errors.Is(err, Exist) {
		if how&Write != 0 {
			how |= Truncate
		}
		return c.Open(ctx, name, how)
	}
	if err != nil {
		return nil, err
	}
	return &File{fid: f}, nil
}

func (c *Client) create(ctx context.Context, name string, perm FileMode, how Flags) (Fid, error) {
	dir, base := path.Split(path.Clean("/" + name))
	f, err := c.Walk(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := f.Create(ctx, base, perm, how); err != nil {
		f.Clunk(context.WithoutCancel(ctx))
		return nil, err
	}
	return f, nil
}

// Mkdir makes a directory.
func (c *Client) Mkdir(ctx context.Context, name string, perm FileMode) error {
	f, err := c.create(ctx, name, perm|ModeDir, Read)
	if err != nil {
		return err
	}
	return f.Clunk(ctx)
}

// ReadFile reads a file to its end. Of a file that blocks, that may be never.
func (c *Client) ReadFile(ctx context.Context, name string) ([]byte, error) {
	f, err := c.Open(ctx, name, Read)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(contextReader{ctx, f})
}

type contextReader struct {
	ctx  context.Context
	file *File
}

func (r contextReader) Read(p []byte) (int, error) { return r.file.ReadContext(r.ctx, p) }

// WriteFile replaces the content of a file that exists, or gives it a body or
// commands, and commits. The error is the first of these steps'.
func (c *Client) WriteFile(ctx context.Context, name string, data []byte) error {
	f, err := c.Open(ctx, name, Write|Truncate)
	if err != nil {
		return err
	}
	_, err = f.WriteContext(ctx, data)
	if err == nil {
		err = f.Sync(ctx)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

// ReadDir lists a directory in the order of names.
func (c *Client) ReadDir(ctx context.Context, name string) ([]Info, error) {
	return at(ctx, c, name, func(f Fid) ([]Info, error) { return f.ReadDir(ctx) })
}

// Stat describes a file.
func (c *Client) Stat(ctx context.Context, name string) (Info, error) {
	return at(ctx, c, name, func(f Fid) (Info, error) { return f.Stat(ctx) })
}

// Change changes a file's attributes.
func (c *Client) Change(ctx context.Context, name string, change Change) error {
	_, err := at(ctx, c, name, func(f Fid) (struct{}, error) { return struct{}{}, f.Change(ctx, change) })
	return err
}

// Rename gives a file a new name in its directory.
func (c *Client) Rename(ctx context.Context, name, newname string) error {
	_, err := at(ctx, c, name, func(f Fid) (struct{}, error) { return struct{}{}, f.Rename(ctx, nil, newname) })
	return err
}

// Remove removes a file or an empty directory.
func (c *Client) Remove(ctx context.Context, name string) error {
	f, err := c.Walk(ctx, name)
	if err != nil {
		return err
	}
	return f.Remove(ctx)
}

// at does one thing to a file.
func at[T any](ctx context.Context, c *Client, name string, do func(Fid) (T, error)) (T, error) {
	f, err := c.Walk(ctx, name)
	if err != nil {
		var zero T
		return zero, err
	}
	defer f.Clunk(context.WithoutCancel(ctx))
	return do(f)
}

// File is an open file of a [Client]. It keeps an offset that reads and writes
// move; one Read and one Write may run at the same time.
type File struct {
	fid Fid
	off atomic.Int64
}

var _ io.ReadWriteCloser = (*File)(nil)

// Read reads on from the offset; at the end it is io.EOF.
func (f *File) Read(p []byte) (int, error) { return f.ReadContext(context.Background(), p) }

// ReadContext is Read until ctx is done; then it is Interrupted.
func (f *File) ReadContext(ctx context.Context, p []byte) (int, error) {
	n, err := f.fid.Read(ctx, p, f.off.Load())
	f.off.Add(int64(n))
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// Write writes all of p at the offset.
func (f *File) Write(p []byte) (int, error) { return f.WriteContext(context.Background(), p) }

// WriteContext is Write with a context.
func (f *File) WriteContext(ctx context.Context, p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := f.fid.Write(ctx, p[done:], f.off.Load())
		f.off.Add(int64(n))
		done += n
		if err != nil {
			return done, err
		}
		if n == 0 {
			return done, io.ErrShortWrite
		}
	}
	return done, nil
}

// Sync commits what has been written.
func (f *File) Sync(ctx context.Context) error { return f.fid.Sync(ctx) }

// Truncate sets the size.
func (f *File) Truncate(ctx context.Context, size int64) error { return f.fid.Truncate(ctx, size) }

// Stat describes the open file; see [Stater].
func (f *File) Stat(ctx context.Context) (Info, error) { return f.fid.Stat(ctx) }

// Close commits what is still due, and its error is the commit's.
func (f *File) Close() error { return f.fid.Clunk(context.Background()) }
