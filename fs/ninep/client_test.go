package ninep_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs"
	"mikan/fs/ninep"
)

// dial returns a client of the tests' tree.
func dial(t testing.TB, who *fs.Identity) (*fs.Client, *gate) {
	t.Helper()
	tree, g := newTree()
	nc, _ := serve(t, tree, who)
	c, err := ninep.NewClient(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, g
}

// connect returns the root of the tests' tree on a connection.
func connect(t testing.TB, version string) (*ninep.Conn, fs.Fid, *gate) {
	t.Helper()
	tree, g := newTree()
	nc, _ := serve(t, tree, owner)
	c, err := ninep.Connect(t.Context(), nc, version)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	root, err := c.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, root, g
}

func walk(t testing.TB, from fs.Fid, names ...string) fs.Fid {
	t.Helper()
	f, err := from.Walk(t.Context(), names...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func opened(t testing.TB, from fs.Fid, how fs.Flags, names ...string) fs.Fid {
	t.Helper()
	f := walk(t, from, names...)
	if err := f.Open(t.Context(), how); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestClient_does_what_a_local_client_does(t *testing.T) {
	c, _ := dial(t, owner)
	ctx := t.Context()
	if got, err := c.ReadFile(ctx, "hello"); err != nil || string(got) != "hello, world\n" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := c.WriteFile(ctx, "hello", []byte("good")); err != nil {
		t.Error(err)
	}
	info, err := c.Stat(ctx, "/hello")
	if err != nil || info.Size != 4 || info.Name != "hello" || info.Mode != 0o640 || info.UID != owner.UID {
		t.Errorf("stat %+v, %v", info, err)
	}
	list, err := c.ReadDir(ctx, "letters")
	if err != nil || len(list) != 5 || list[0].Name != "a" {
		t.Errorf("list %v, %v", list, err)
	}
	if err := c.Mkdir(ctx, "work/box", 0o750); err != nil {
		t.Error(err)
	}
	f, err := c.Create(ctx, "work/box/note", 0o640, fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, "remember"); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Rename(ctx, "work/box/note", "kept"); err != nil {
		t.Error(err)
	}
	if got, err := c.ReadFile(ctx, "work/box/kept"); err != nil || string(got) != "remember" {
		t.Errorf("read %q, %v", got, err)
	}
	if err := c.Remove(ctx, "work/box/kept"); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat(ctx, "work/box/kept"); !errors.Is(err, fs.NotExist) {
		t.Errorf("after the removal: %v", err)
	}
}

func TestClient_errors_keep_their_kind_and_their_sentence(t *testing.T) {
	for _, version := range []string{"9P2000", "9P2000.L"} {
		t.Run(version, func(t *testing.T) {
			_, root, _ := connect(t, version)
			f := opened(t, root, fs.Write, "ctl")
			_, err := f.Write(t.Context(), []byte("promt hi\n"), 0)
			var e *fs.Error
			if !errors.As(err, &e) || e.Kind != fs.Invalid || e.Path != "ctl" || e.Op != "write" {
				t.Fatalf("error %#v", err)
			}
			if sentence := `unknown verb "promt hi"; try prompt`; version == "9P2000" && !strings.Contains(e.Text, sentence) {
				t.Errorf("sentence %q", e.Text)
			}
		})
	}
}

func TestClient_walk_says_why_it_did_not_arrive(t *testing.T) {
	c, _ := dial(t, other)
	for name, kind := range map[string]fs.Kind{
		"nothing":                 fs.NotExist,
		"letters/nothing/x":       fs.NotExist,
		"hello/x":                 fs.NotDir,
		"letters/a/x":             fs.NotDir,
		"private/leak":            fs.Permission,
		"letters/../private/leak": fs.Permission,
		strings.Repeat("x", 300):  fs.NameTooLong,
	} {
		if _, err := c.Stat(t.Context(), name); !errors.Is(err, kind) {
			t.Errorf("%.30s: error %v; want %q", name, err, kind)
		}
	}
}

func TestClient_walks_more_names_than_go_into_a_message(t *testing.T) {
	_, root, _ := connect(t, "9P2000")
	var names []string
	for range 25 {
		names = append(names, "letters", "..")
	}
	f := walk(t, root, append(names, "hello")...)
	if info, err := f.Stat(t.Context()); err != nil || info.Name != "hello" {
		t.Errorf("stat %+v, %v", info, err)
	}
	if _, err := root.Walk(t.Context(), append(names, "nothing")...); !errors.Is(err, fs.NotExist) {
		t.Errorf("error %v", err)
	}
}

func TestClient_a_cancelled_read_consumes_nothing(t *testing.T) {
	_, root, g := connect(t, "9P2000")
	f := opened(t, root, fs.Read, "gate")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	buf := make([]byte, 10)
	go func() {
		_, err := f.Read(ctx, buf, 0)
		ended <- err
	}()
	<-g.entered
	cancel()
	if err := <-ended; !errors.Is(err, fs.Interrupted) {
		t.Errorf("error %v", err)
	}
	g.tokens <- "token"
	n, err := f.Read(t.Context(), buf, 0)
	if err != nil || string(buf[:n]) != "token" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
}

func TestClient_a_reply_that_comes_before_the_Rflush_counts(t *testing.T) {
	mine, theirs := pair(t)
	var server sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	server.Go(func() {
		defer theirs.Close()
		fake := &wire{t, theirs}
		fake.answer("Rversion tag 65535 msize 8192 version '9P2000'")
		fake.answer("Rattach tag 0 qid 0x0.0.d")
		fake.answer("") // the read
		cancel()
		fake.answer("Rread tag 0 data token") // the flush, and then this
		fake.send("Rflush tag 1")
		fake.answer("Rclunk tag 1")
	})
	c, err := ninep.Connect(t.Context(), mine, "9P2000")
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 10)
	n, err := f.Read(ctx, buf, 0)
	if err != nil || string(buf[:n]) != "token" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	f.Clunk(t.Context())
	c.Close()
	server.Wait()
}

// answer reads a request and sends reply, if that is not empty.
func (w *wire) answer(reply string) {
	if _, err := plan9.ReadFcall(w); err == nil && reply != "" {
		w.send(reply)
	}
}

func TestClient_a_lost_connection_fails_what_waits_and_what_comes(t *testing.T) {
	tree, g := newTree()
	nc, _ := serve(t, tree, owner)
	c, err := ninep.Connect(t.Context(), nc, "9P2000")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	root, err := c.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := opened(t, root, fs.Read, "gate")
	ended := make(chan error)
	go func() {
		_, err := f.Read(context.Background(), make([]byte, 10), 0)
		ended <- err
	}()
	<-g.entered
	nc.(*net.UnixConn).CloseRead()
	if err := <-ended; !errors.Is(err, fs.IO) || !strings.Contains(err.Error(), "lost") {
		t.Errorf("error %v", err)
	}
	<-c.Done()
	if _, err := root.Stat(context.Background()); !errors.Is(err, fs.IO) {
		t.Errorf("error %v", err)
	}
	if err := root.Clunk(context.Background()); !errors.Is(err, fs.IO) {
		t.Errorf("error %v", err)
	}
}

func TestClient_many_goroutines_share_a_connection(t *testing.T) {
	c, _ := dial(t, owner)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 50 {
				got, err := c.ReadFile(context.Background(), "letters/c")
				if err != nil || string(got) != "c" {
					t.Errorf("read %q, %v", got, err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestClient_cuts_what_is_longer_than_a_message(t *testing.T) {
	c, _ := dial(t, owner)
	long := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	if err := c.WriteFile(t.Context(), "hello", long); err != nil {
		t.Fatal(err)
	}
	got, err := c.ReadFile(t.Context(), "hello")
	if err != nil || !bytes.Equal(got, long) {
		t.Errorf("read %d bytes of %d, %v", len(got), len(long), err)
	}
}

func TestClient_change(t *testing.T) {
	_, root, _ := connect(t, "9P2000")
	ctx := t.Context()
	f := walk(t, root, "work")
	if err := f.Create(ctx, "file", 0o640, fs.Write); err != nil {
		t.Fatal(err)
	}
	when, mode, size := time.Unix(1e9, 0), fs.FileMode(0o640), int64(0)
	if err := f.Change(ctx, fs.Change{MTime: &when, Mode: &mode, Size: &size}); err != nil {
		t.Error(err)
	}
	if err := f.Truncate(ctx, 3); err != nil {
		t.Error(err)
	}
	if err := f.Rename(ctx, walk(t, root, "work"), "new"); err != nil {
		t.Error(err)
	}
	if err := f.Rename(ctx, walk(t, root, "letters"), "new"); !errors.Is(err, fs.CrossDevice) {
		t.Errorf("error %v", err)
	}
	if _, err := f.Readlink(ctx); !errors.Is(err, fs.Invalid) {
		t.Errorf("error %v", err)
	}
	if err := f.Clunk(ctx); err != nil {
		t.Error(err)
	}
}

func TestClient_a_server_that_breaks_the_protocol_loses_the_connection(t *testing.T) {
	for name, bad := range map[string]string{
		"a reply to nothing":       "Rclunk tag 77",
		"a reply of another type":  "Rclunk tag 0",
		"a request":                "Tclunk tag 0 fid 0",
		"more data than asked for": "Rread tag 0 data 0123456789abcdef0123456789abcdef",
		"more qids than names":     "Rwalk tag 0 wqid [0x1.1 0x1.1]",
		"a version in the middle":  "Rversion tag 65535 msize 8192 version '9P2000'",
	} {
		t.Run(name, func(t *testing.T) {
			mine, theirs := pair(t)
			var server sync.WaitGroup
			server.Go(func() {
				defer theirs.Close()
				fake := &wire{t, theirs}
				fake.answer("Rversion tag 65535 msize 8192 version '9P2000'")
				fake.answer("Rattach tag 0 qid 0x0.0.d")
				fake.answer(bad)
				io.Copy(io.Discard, theirs)
			})
			c, err := ninep.Connect(t.Context(), mine, "9P2000")
			if err != nil {
				t.Fatal(err)
			}
			f, err := c.Attach(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(bad, "Rwalk") {
				_, err = f.Walk(t.Context(), "x")
			} else {
				_, err = f.Read(t.Context(), make([]byte, 10), 0)
			}
			if !errors.Is(err, fs.IO) {
				t.Errorf("error %v", err)
			}
			c.Close()
			server.Wait()
		})
	}
}

func TestConnect_refuses_a_server_that_speaks_something_else(t *testing.T) {
	for name, answer := range map[string]string{
		"unknown":   "Rversion tag 65535 msize 8192 version unknown",
		"too large": "Rversion tag 65535 msize 8388608 version '9P2000'",
		"too small": "Rversion tag 65535 msize 100 version '9P2000'",
		"an error":  "Rerror tag 65535 ename 'go away'",
		"nonsense":  "Rclunk tag 1",
	} {
		t.Run(name, func(t *testing.T) {
			mine, theirs := pair(t)
			var server sync.WaitGroup
			server.Go(func() {
				defer theirs.Close()
				(&wire{t, theirs}).answer(answer)
			})
			if c, err := ninep.Connect(t.Context(), mine, "9P2000"); err == nil {
				c.Close()
				t.Error("connected")
			}
			server.Wait()
		})
	}
}

func TestConnect_ends_with_its_context_when_the_server_is_silent(t *testing.T) {
	mine, theirs := pair(t)
	defer theirs.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := ninep.Connect(ctx, mine, "9P2000"); !errors.Is(err, fs.Timeout) {
		t.Errorf("error %v", err)
	}
}
