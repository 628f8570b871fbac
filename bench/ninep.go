package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/knusbaum/go9p"
	"golang.org/x/sync/errgroup"

	"mikan/fs"
	"mikan/fs/ninep"
)

// me is who does everything here.
var me = &fs.Identity{Name: "bench", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}

// value is a file of a fixed content.
func value(content []byte) *fs.Value {
	return &fs.Value{Mode: 0o644, Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
		return content, time.Unix(1e9, 0), nil
	}}
}

const bulk = 1 << 20 // bytes

func benchTree() *fs.Tree {
	return fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"hello": value([]byte("hello, world\n")),
		"big":   value(bytes.Repeat([]byte("x"), bulk)),
	}}, me.UID, me.GID)
}

// server is a way to serve a tree on a connection, until that is closed.
type server func(nc net.Conn, tree fs.Attacher)

func serveMikan(nc net.Conn, tree fs.Attacher) {
	_ = (&ninep.Server{Tree: tree}).ServeConn(context.Background(), nc, me)
}

// serveGo9p has go9p's loop serve our session: the loops alone differ.
func serveGo9p(nc net.Conn, tree fs.Attacher) {
	go9p.ServeReadWriter(nc, nc, (&ninep.Server{Tree: tree}).Srv(me))
}

// dialed connects our client to a server of tree.
func dialed(serve server, tree fs.Attacher) (root fs.Fid, hangUp func(), err error) {
	mine, theirs, err := pair()
	if err != nil {
		return nil, nil, err
	}
	var served sync.WaitGroup
	served.Go(func() { serve(theirs, tree) })
	c, err := ninep.Connect(context.Background(), mine, "9P2000")
	hangUp = func() {
		mine.Close()
		if c != nil {
			c.Close()
		}
		served.Wait()
		theirs.Close()
	}
	if err == nil {
		root, err = c.Attach(context.Background(), nil)
	}
	if err != nil {
		hangUp()
	}
	return root, hangUp, err
}

// pair is two ends of a Unix stream socket.
func pair() (net.Conn, net.Conn, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			return nil, nil, err
		}
	}
	return ends[0], ends[1], nil
}

// ninepRows compares the loops.
func ninepRows(ctx context.Context, w *world) error {
	for _, peer := range []struct {
		name  string
		serve server
	}{{"go9p", serveGo9p}, {"srv9p", serveSrv9p}} {
		tree := benchTree()
		ours, hangUp, err := dialed(serveMikan, tree)
		if err != nil {
			return err
		}
		theirs, hangUpToo, err := dialed(peer.serve, tree)
		if err != nil {
			hangUp()
			return err
		}
		err = w.compare(ctx, peer.name, ours, theirs)
		hangUp()
		hangUpToo()
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *world) compare(ctx context.Context, name string, ours, theirs fs.Fid) error {
	for _, c := range []struct {
		path    string
		run     func(ctx context.Context, root fs.Fid, n int) (time.Duration, error)
		n       int
		atLeast float64
	}{
		{"9P stat, one at a time", stats, 2000, 1.0},
		{"9P stat, 64 at once", stats64, 6400, 1.0},
		{"9P read of 1 MiB", reads, 60, 0.9},
	} {
		d, err := duel(w.times(24),
			func() (time.Duration, error) { return c.run(ctx, ours, w.times(c.n)) },
			func() (time.Duration, error) { return c.run(ctx, theirs, w.times(c.n)) })
		if err != nil {
			return err
		}
		w.speed(c.path, name, d, c.atLeast)
	}
	return nil
}

func stats(ctx context.Context, root fs.Fid, n int) (time.Duration, error) {
	return timed(n, func() error {
		_, err := root.Stat(ctx)
		return err
	})
}

// stats64 keeps 64 stats in flight on the connection.
func stats64(ctx context.Context, root fs.Fid, n int) (time.Duration, error) {
	const flight = 64
	each := max(1, n/flight)
	began := time.Now()
	var g errgroup.Group
	for range flight {
		g.Go(func() error {
			f, err := root.Walk(ctx, "hello")
			if err != nil {
				return err
			}
			defer f.Clunk(ctx)
			_, err = timed(each, func() error { _, err := f.Stat(ctx); return err })
			return err
		})
	}
	err := g.Wait()
	return time.Since(began) / time.Duration(each*flight), err
}

func reads(ctx context.Context, root fs.Fid, n int) (time.Duration, error) {
	f, err := root.Walk(ctx, "big")
	if err != nil {
		return 0, err
	}
	defer f.Clunk(ctx)
	if err := f.Open(ctx, fs.Read); err != nil {
		return 0, err
	}
	buf := make([]byte, 64<<10)
	return timed(n, func() error {
		for off := int64(0); off < bulk; {
			n, err := f.Read(ctx, buf, off)
			if err != nil {
				return err
			}
			off += int64(n)
		}
		return nil
	})
}
