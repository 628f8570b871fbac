package ninep_test

import (
	"io"
	"net"
	"sync"
	"testing"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/client"
	"github.com/knusbaum/go9p"

	"mikan/fs/ninep"
)

// TestInterop_9fans_client works through what the other Go client can do.
func TestInterop_9fans_client(t *testing.T) {
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	use9fans(t, nc)
}

// TestInterop_go9p_loop has go9p's own loop serve a session of ours.
func TestInterop_go9p_loop(t *testing.T) {
	tree, _ := newTree()
	mine, theirs := pair(t)
	srv := (&ninep.Server{Tree: tree, Log: quiet}).Srv(owner)
	var served sync.WaitGroup
	served.Go(func() { go9p.ServeReadWriter(theirs, theirs, srv) })
	t.Cleanup(func() {
		mine.Close()
		served.Wait()
		theirs.Close()
	})
	use9fans(t, mine)
}

func use9fans(t *testing.T, nc net.Conn) {
	conn, err := client.NewConn(nc)
	if err != nil {
		t.Fatal(err)
	}
	fsys, err := conn.Attach(nil, "glenda", "")
	if err != nil {
		t.Fatal(err)
	}
	f, err := fsys.Open("letters", plan9.OREAD)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := f.Dirreadall()
	if err != nil || len(entries) != 5 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	f.Close()

	f, err = fsys.Create("work/note", plan9.ORDWR, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("remember")); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	var d plan9.Dir
	d.Null()
	d.Name = "kept"
	if err := fsys.Wstat("work/note", &d); err != nil {
		t.Error(err)
	}
	f, err = fsys.Open("work/kept", plan9.OREAD)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(f); err != nil || string(data) != "remember" {
		t.Errorf("read %q, %v", data, err)
	}
	f.Close()
	if err := fsys.Remove("work/kept"); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Stat("work/kept"); err == nil {
		t.Error("the removed file is still there")
	}
}
