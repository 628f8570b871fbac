package runtime

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"mikan/fs"
)

// openFile opens a regular file of the office, named below its directory.
// The agent may have put anything in its place, and may exchange it at any time:
// what is not a regular file in there, by whatever way, is an error, and nothing
// is waited for. The first look keeps it from opening a device, which could act
// on that; the second is the one that counts.
func (o *Office) openFile(name string) (*os.File, int64, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, 0, notRegular(name, err)
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, notRegular(name, err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, 0, notRegular(name, err)
	}
	return f, info.Size(), nil
}

// notRegular says why a file of the agent was not opened, without the host's
// path.
func notRegular(name string, err error) error {
	var in *os.PathError
	switch {
	case err == nil:
		return fs.Errorf(fs.Invalid, "%.200q is not a regular file", name)
	case errors.As(err, &in):
		return fs.Errorf(fs.KindOf(err), "%.200q: %w", name, in.Err)
	}
	return fs.Errorf(fs.KindOf(err), "%.200q: %w", name, err)
}

// stage copies a file of the office to one that nobody else can reach or change,
// and that has no name: it is gone when it is closed, also after a crash.
func (c *Conversation) stage(name string) (copied *os.File, err error) {
	f, size, err := c.openFile(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > fs.MaxRequestBody {
		return nil, fs.Errorf(fs.TooBig, "%.200q has %d bytes; %d can be uploaded", name, size, fs.MaxRequestBody)
	}
	dir := filepath.Join(c.rt.ws.StateDir, "staging")
	if err := ensureDir(dir); err != nil {
		return nil, err
	}
	to, err := os.CreateTemp(dir, "upload-*") // 0600
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			to.Close()
		}
	}()
	if err := os.Remove(to.Name()); err != nil {
		return nil, err
	}
	n, err := io.Copy(to, io.LimitReader(f, fs.MaxRequestBody+1))
	if err == nil && n > fs.MaxRequestBody {
		err = fs.Errorf(fs.TooBig, "%.200q grows; %d bytes can be uploaded", name, fs.MaxRequestBody)
	}
	if err != nil {
		return nil, fmt.Errorf("copy %.200q: %w", name, err)
	}
	return to, nil
}
