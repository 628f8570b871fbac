package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs/fuse"
)

// hello is go-fuse's example: one persistent file in memory.
type hello struct{ gofs.Inode }

func (r *hello) OnAdd(ctx context.Context) {
	file := &gofs.MemRegularFile{Data: []byte("hello\n"), Attr: gofuse.Attr{Mode: 0o644}}
	r.AddChild("hello", r.NewPersistentInode(ctx, file, gofs.StableAttr{Ino: 2}), false)
}

func (r *hello) Getattr(_ context.Context, _ gofs.FileHandle, out *gofuse.AttrOut) syscall.Errno {
	out.Mode = 0o755
	return 0
}

// mountDirs makes directories to mount on.
func (w *world) mountDirs(names ...string) ([]string, error) {
	var dirs []string
	for _, name := range names {
		dir := filepath.Join(w.dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// fuseRow compares a value on the mount with go-fuse's example.
func fuseRow(ctx context.Context, w *world) (err error) {
	const path = "FUSE open, read, close of a value"
	if err := fuse.Available(fuse.Options{}); err != nil {
		w.rows = append(w.rows, row{path: path, who: err.Error(), verdict: unjudged})
		return nil
	}
	dirs, err := w.mountDirs("ours", "theirs")
	if err != nil {
		return err
	}
	ours, err := fuse.Mount(dirs[0], benchTree(), fuse.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.Close()) }()
	theirs, err := gofs.Mount(dirs[1], &hello{}, &gofs.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, theirs.Unmount()) }()
	n := w.times(1000)
	d, err := duel(w.times(20),
		func() (time.Duration, error) { return cycles(ctx, filepath.Join(dirs[0], "hello"), n) },
		func() (time.Duration, error) { return cycles(ctx, filepath.Join(dirs[1], "hello"), n) })
	if err == nil {
		w.speed(path, "go-fuse hello", d, 0.8)
	}
	return err
}
