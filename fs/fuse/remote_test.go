package fuse_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/fuse"
	"mikan/fs/ninep"
)

// overNinep puts a 9P connection before tree.
func overNinep(t *testing.T, tree *fs.Tree) fs.Attacher {
	here, there := net.Pipe()
	who := &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	srv := &ninep.Server{Tree: tree}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.ServeConn(ctx, there, who) }()
	conn, err := ninep.Connect(ctx, here, "9P2000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return conn
}

func TestConformanceOfARemoteTree(t *testing.T) {
	t.Parallel()
	for _, c := range fstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			tree := fstest.NewTree(t.TempDir(), uint32(os.Getuid()), uint32(os.Getgid()))
			dir := mounted(t, overNinep(t, tree), fuse.Options{})
			if out, err := child(t.Context(), "case", c.Name, dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestWritersToARemoteTreeMakeOneBody(t *testing.T) {
	t.Parallel()
	got := &record{}
	m := mounted(t, overNinep(t, inboxTree(got, 0)), fuse.Options{})
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) { w.writesOnce(t, m, got) })
	}
}
