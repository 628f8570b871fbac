package fuse_test

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs"
	"mikan/fs/fuse"
)

// hello is go-fuse's example: one persistent file in memory.
type hello struct{ gofs.Inode }

func (r *hello) OnAdd(ctx context.Context) {
	file := &gofs.MemRegularFile{Data: []byte("hello\n"), Attr: gofuse.Attr{Mode: 0o644}}
	r.AddChild("file", r.NewPersistentInode(ctx, file, gofs.StableAttr{Ino: 2}), false)
}

func (r *hello) Getattr(_ context.Context, _ gofs.FileHandle, out *gofuse.AttrOut) syscall.Errno {
	out.Mode = 0o755
	return 0
}

func mountHello(tb testing.TB) string {
	dir := tb.TempDir()
	srv, err := gofs.Mount(dir, &hello{}, &gofs.Options{})
	if err != nil {
		tb.Skip("no FUSE here:", err)
	}
	tb.Cleanup(func() {
		if err := srv.Unmount(); err != nil {
			tb.Error(err)
		}
	})
	return dir
}

// BenchmarkCycle compares open+read+close of a value with go-fuse's hello
// example; the peers take turns, so that both meet the same weather.
func BenchmarkCycle(b *testing.B) {
	value := &fs.Value{Mode: 0o644, Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
		return []byte("hello\n"), time.Unix(1e9, 0), nil
	}}
	ours := filepath.Join(mounted(b, fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"file": value}}, 0, 0), fuse.Options{}), "file")
	theirs := filepath.Join(mountHello(b), "file")
	const round = 500
	var a, p float64
	for b.Loop() {
		a += measure(b, ours, round)
		p += measure(b, theirs, round)
	}
	b.ReportMetric(a/float64(b.N)/1e3, "µs/cycle")
	b.ReportMetric(p/a, "ratio")
}
