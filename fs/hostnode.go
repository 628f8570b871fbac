package fs

import (
	"context"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// hostDir is a directory at rel in a HostDir.
type hostDir struct {
	host *HostDir
	rel  string
}

// hostFile is a regular file.
type hostFile struct {
	host *HostDir
	rel  string
	// made is the descriptor from the making, for the first open: a mode without
	// write permission binds the next writer, not the maker.
	made atomic.Pointer[os.File]
}

// hostLink is a symbolic link that leads inside.
type hostLink struct {
	host *HostDir
	rel  string
}

var (
	_ Directory = (*hostDir)(nil)
	_ Creator   = (*hostDir)(nil)
	_ Remover   = (*hostDir)(nil)
	_ Renamer   = (*hostDir)(nil)
	_ Changer   = (*hostDir)(nil)
	_ Opener    = (*hostFile)(nil)
	_ Changer   = (*hostFile)(nil)
	_ Linker    = (*hostLink)(nil)
)

func (h *HostDir) stat(rel string) (info Info, err error) {
	err = h.use(func(root *os.Root) error {
		fi, err := root.Lstat(rel)
		if err == nil {
			info = hostInfo(fi)
		}
		return err
	})
	return info, err
}

func (d *hostDir) Stat(context.Context) (Info, error)  { return d.host.stat(d.rel) }
func (f *hostFile) Stat(context.Context) (Info, error) { return f.host.stat(f.rel) }
func (l *hostLink) Stat(context.Context) (Info, error) { return l.host.stat(l.rel) }

func (l *hostLink) Readlink(context.Context) (target string, err error) {
	err = l.host.use(func(root *os.Root) error {
		target, err = linkTarget(root, l.rel)
		return err
	})
	return target, err
}

func (d *hostDir) Lookup(_ context.Context, name string) (n Node, err error) {
	err = d.host.use(func(root *os.Root) error {
		n, err = d.host.node(root, path.Join(d.rel, name))
		return err
	})
	return n, err
}

func (d *hostDir) Names(context.Context) (names []string, err error) {
	err = d.host.use(func(root *os.Root) error {
		f, err := root.OpenFile(d.rel, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		all, err := f.ReadDir(-1)
		for _, e := range all {
			if d.shows(root, e) {
				names = append(names, e.Name())
			}
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// shows reports whether an entry exists for us.
func (d *hostDir) shows(root *os.Root, e os.DirEntry) bool {
	if e.Type() == ModeSymlink {
		_, err := linkTarget(root, path.Join(d.rel, e.Name()))
		return err == nil
	}
	return e.IsDir() || e.Type().IsRegular()
}

func (d *hostDir) Create(_ context.Context, who *Identity, name string, perm FileMode) (n Node, err error) {
	rel := path.Join(d.rel, name)
	err = d.host.change(func(root *os.Root) error {
		if perm.IsDir() {
			n = &hostDir{d.host, rel}
			return makeDir(root, rel, perm, who)
		}
		f, err := makeFile(root, rel, perm, who)
		file := &hostFile{host: d.host, rel: rel}
		file.made.Store(f)
		n = file
		return err
	})
	return n, err
}

func makeDir(root *os.Root, rel string, perm FileMode, who *Identity) error {
	if err := root.Mkdir(rel, perm.Perm()); err != nil {
		return err
	}
	if owned(who) {
		if err := root.Lchown(rel, int(who.UID), int(who.GID)); err != nil {
			return err
		}
	}
	return root.Chmod(rel, perm.Perm()) // whatever our umask is
}

func makeFile(root *os.Root, rel string, perm FileMode, who *Identity) (*os.File, error) {
	f, err := root.OpenFile(rel, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return nil, err
	}
	if owned(who) {
		err = f.Chown(int(who.UID), int(who.GID))
	}
	if err == nil {
		err = f.Chmod(perm.Perm())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// owned reports whether what who makes must be given to him, and can be.
func owned(who *Identity) bool {
	return os.Geteuid() == 0 && who.UID != 0
}

func (d *hostDir) Remove(_ context.Context, _ *Identity, name string) error {
	return d.host.change(func(root *os.Root) error {
		return root.Remove(path.Join(d.rel, name))
	})
}

func (d *hostDir) Rename(_ context.Context, _ *Identity, name string, dir Directory, newname string) error {
	to, ok := dir.(*hostDir)
	if top, is := dir.(*HostDir); is {
		to, ok = top.top(), true
	}
	if !ok || to.host != d.host {
		return CrossDevice
	}
	from, into := path.Join(d.rel, name), path.Join(to.rel, newname)
	if from == into {
		return nil // os.Root refuses a directory that is there
	}
	return d.host.change(func(root *os.Root) error { return root.Rename(from, into) })
}

func (d *hostDir) Change(_ context.Context, _ *Identity, c Change) error {
	return d.host.setAttr(d.rel, c)
}

func (f *hostFile) Change(_ context.Context, _ *Identity, c Change) error {
	if c.Size != nil {
		if f.host.ReadOnly {
			return ReadOnly
		}
		file, err := f.open(os.O_WRONLY)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := file.Truncate(*c.Size); err != nil {
			return hostError(err)
		}
	}
	return f.host.setAttr(f.rel, c)
}

// setAttr changes mode and time.
func (h *HostDir) setAttr(rel string, c Change) error {
	return h.change(func(root *os.Root) error {
		if c.Mode != nil {
			if err := root.Chmod(rel, c.Mode.Perm()); err != nil {
				return err
			}
		}
		if c.MTime != nil {
			return root.Chtimes(rel, time.Time{}, *c.MTime)
		}
		return nil
	})
}

func (f *hostFile) Open(_ context.Context, _ *Identity, how Flags) (Handle, error) {
	flag := os.O_RDONLY
	switch {
	case how&Write != 0 && f.host.ReadOnly:
		return nil, ReadOnly
	case how&Write != 0 && how&Read != 0:
		flag = os.O_RDWR
	case how&Write != 0:
		flag = os.O_WRONLY
	}
	file := f.made.Swap(nil)
	if file == nil {
		var err error
		if file, err = f.open(flag); err != nil {
			return nil, err
		}
	}
	if how&Truncate != 0 {
		if err := file.Truncate(0); err != nil {
			file.Close()
			return nil, hostError(err)
		}
	}
	return &hostHandle{file}, nil
}

// open opens the file if it is a regular one. A pipe that takes its place in
// that moment is opened without waiting (O_NONBLOCK), and closed again.
func (f *hostFile) open(flag int) (file *os.File, err error) {
	err = f.host.use(func(root *os.Root) error {
		if fi, err := root.Lstat(f.rel); err != nil || !fi.Mode().IsRegular() {
			return NotExist
		}
		file, err = root.OpenFile(f.rel, flag|syscall.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		if fi, err := file.Stat(); err != nil || !fi.Mode().IsRegular() {
			file.Close()
			return NotExist
		}
		return nil
	})
	return file, err
}

// hostHandle writes through at once, so there is nothing to commit at a Sync.
type hostHandle struct{ file *os.File }

func (h *hostHandle) Stat(context.Context) (Info, error) {
	fi, err := h.file.Stat()
	if err != nil {
		return Info{}, hostError(err)
	}
	return hostInfo(fi), nil
}

func (h *hostHandle) Read(_ context.Context, p []byte, off int64) (int, error) {
	n, err := h.file.ReadAt(p, off)
	if n > 0 || errors.Is(err, io.EOF) {
		return n, nil
	}
	return n, hostError(err)
}

func (h *hostHandle) Write(_ context.Context, p []byte, off int64) (int, error) {
	n, err := h.file.WriteAt(p, off)
	return n, hostError(err)
}

func (h *hostHandle) Truncate(_ context.Context, size int64) error {
	return hostError(h.file.Truncate(size))
}

func (h *hostHandle) Close() error { return hostError(h.file.Close()) }
