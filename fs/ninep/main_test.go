package ninep_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/ninep"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // go9p's loop logs each hang-up
	fstest.Main(m)
}

// The users of the tests. Neither is root, whom no mode bits stop,
// and no machine knows their names.
var (
	owner = &fs.Identity{Name: "54321", UID: 54321, GID: 54321}
	other = &fs.Identity{Name: "54322", UID: 54322, GID: 54322}
)

var quiet = slog.New(slog.DiscardHandler)

// text is a value that is kept in memory and refuses what begins with "bad".
func text(content string) *fs.Value {
	var mu sync.Mutex
	data, mtime := []byte(content), time.Unix(1e9, 0)
	return &fs.Value{
		Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			return data, mtime, nil
		},
		Set: func(_ context.Context, _ *fs.Identity, next []byte) error {
			if strings.HasPrefix(string(next), "bad") {
				return fs.Errorf(fs.Invalid, "the value is bad; write a good one")
			}
			mu.Lock()
			defer mu.Unlock()
			data, mtime = next, mtime.Add(time.Second)
			return nil
		},
	}
}

// gate is a conversational file. A read waits for a token, or for the end of
// its context; a write for hold to be closed, if there is one.
type gate struct {
	tokens  chan string
	entered chan struct{} // one for each read that has begun, and each write held
	hold    chan struct{} // if not nil, writes wait until it is closed
	mu      sync.Mutex
	wrote   []string
}

func newGate() *gate {
	return &gate{tokens: make(chan string, 10), entered: make(chan struct{}, 100_000)}
}

func (g *gate) Stat(context.Context) (fs.Info, error) {
	return fs.Info{Mode: 0o660 | os.ModeTemporary}, nil
}

func (g *gate) Open(context.Context, *fs.Identity, fs.Flags) (fs.Handle, error) { return g, nil }

func (g *gate) Close() error { return nil }

func (g *gate) Read(ctx context.Context, p []byte, _ int64) (int, error) {
	g.entered <- struct{}{}
	select {
	case t := <-g.tokens:
		return copy(p, t), nil
	default:
	}
	select {
	case t := <-g.tokens:
		return copy(p, t), nil
	case <-ctx.Done():
		return 0, fs.Interrupted
	}
}

func (g *gate) Write(_ context.Context, p []byte, _ int64) (int, error) {
	if g.hold != nil {
		g.entered <- struct{}{}
		<-g.hold
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wrote = append(g.wrote, string(p))
	return len(p), nil
}

// writes is what was written so far.
func (g *gate) writes() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.wrote, "")
}

// faulty panics when it is opened.
type faulty struct{}

func (faulty) Stat(context.Context) (fs.Info, error) { return fs.Info{Mode: 0o660}, nil }
func (faulty) Open(context.Context, *fs.Identity, fs.Flags) (fs.Handle, error) {
	panic("as the test wants it")
}

// newTree is the tree of the tests, and its file "gate".
func newTree() (*fs.Tree, *gate) {
	g := newGate()
	letters := map[string]fs.Node{}
	for c := 'a'; c <= 'e'; c++ {
		letters[string(c)] = text(string(c))
	}
	files := map[string]fs.Node{}
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"hello":   text("hello, world\n"),
		"letters": &fs.Dir{Mode: 0o755, Children: letters},
		"private": &fs.Dir{Mode: 0o700, Children: map[string]fs.Node{"leak": text("secret")}},
		"shown":   &fs.Value{Mode: 0o644, Get: text("shown").Get, Set: text("").Set},
		"gate":    g,
		"faulty":  faulty{},
		"ctl": &fs.Ctl{Run: func(_ context.Context, _ *fs.Identity, line string) error {
			return fs.Errorf(fs.Invalid, "unknown verb %q; try prompt", line)
		}},
		"work": workDir(files),
	}}
	return fs.NewTree(root, owner.UID, owner.GID), g
}

// workDir is a directory in which values can be made, renamed and removed.
func workDir(files map[string]fs.Node) *fs.Dir {
	var mu sync.Mutex
	d := &fs.Dir{Mode: 0o750}
	find := func(name string) (fs.Node, error) {
		if n := files[name]; n != nil {
			return n, nil
		}
		return nil, fs.NotExist
	}
	d.Dynamic = func(_ context.Context, name string) (fs.Node, error) {
		mu.Lock()
		defer mu.Unlock()
		return find(name)
	}
	d.List = func(context.Context) (names []string, err error) {
		mu.Lock()
		defer mu.Unlock()
		for name := range files {
			names = append(names, name)
		}
		return names, nil
	}
	d.MakeFile = func(_ context.Context, _ *fs.Identity, name string) (fs.Node, error) {
		mu.Lock()
		defer mu.Unlock()
		files[name] = text("")
		return files[name], nil
	}
	d.Make = func(_ context.Context, _ *fs.Identity, name string) (fs.Node, error) {
		mu.Lock()
		defer mu.Unlock()
		files[name] = workDir(map[string]fs.Node{})
		return files[name], nil
	}
	d.Unmake = func(_ context.Context, _ *fs.Identity, name string) error {
		mu.Lock()
		defer mu.Unlock()
		delete(files, name)
		return nil
	}
	d.Move = func(_ context.Context, _ *fs.Identity, name string, _ fs.Directory, newname string) error {
		mu.Lock()
		defer mu.Unlock()
		files[newname] = files[name]
		delete(files, name)
		return nil
	}
	return d
}

// pair is two ends of a Unix stream socket.
func pair(t testing.TB) (net.Conn, net.Conn) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	return ends[0], ends[1]
}

// serve serves tree for who on one connection and returns the client's end. At
// the end of the test, or when stop is called, that is closed and nothing of
// the server may be left.
func serve(t testing.TB, tree fs.Attacher, who *fs.Identity) (nc net.Conn, stop func() error) {
	t.Helper()
	return serveWith(t, &ninep.Server{Tree: tree, Log: quiet}, who)
}

func serveWith(t testing.TB, s *ninep.Server, who *fs.Identity) (net.Conn, func() error) {
	t.Helper()
	mine, theirs := pair(t)
	ended := make(chan error, 1)
	go func() { ended <- s.ServeConn(context.Background(), theirs, who) }()
	stop := sync.OnceValue(func() error {
		mine.Close()
		select {
		case err := <-ended:
			return err
		case <-time.After(10 * time.Second):
			return fmt.Errorf("the server did not end within 10 s")
		}
	})
	t.Cleanup(func() { stop() })
	return mine, stop
}

// wire talks 9P by hand, with another implementation's messages.
type wire struct {
	t testing.TB
	net.Conn
}

// newWire has exchanged versions and attached fid 0 to the root.
func newWire(t testing.TB, nc net.Conn) *wire {
	t.Helper()
	w := &wire{t, nc}
	nc.SetDeadline(time.Now().Add(20 * time.Second))
	w.rpc("Tversion tag 65535 msize 65535 version '9P2000'")
	w.rpc("Tattach tag 1 fid 0 afid NOFID uname none aname ''")
	return w
}

// open puts fid on the file at name and opens it.
func (w *wire) open(fid int, name, mode string) {
	w.t.Helper()
	w.rpc(fmt.Sprintf("Twalk tag 1 fid 0 newfid %d wname %s", fid, name))
	w.rpc(fmt.Sprintf("Topen tag 1 fid %d mode %s", fid, mode))
}

func (w *wire) send(msg string) {
	w.t.Helper()
	f, err := plan9.ParseFcall(msg)
	if err != nil {
		w.t.Fatalf("%s: %v", msg, err)
	}
	frame, err := f.Bytes()
	if err != nil {
		w.t.Fatalf("%s: %v", msg, err)
	}
	if _, err := w.Write(frame); err != nil {
		w.t.Fatalf("%s: %v", msg, err)
	}
}

// recv is the next reply, as text.
func (w *wire) recv() string {
	w.t.Helper()
	f, err := plan9.ReadFcall(w)
	if err == io.EOF {
		return "eof"
	}
	if err != nil {
		w.t.Fatalf("no reply: %v", err)
	}
	return f.String()
}

// rpc is send and recv; it fails the test on an Rerror.
func (w *wire) rpc(msg string) string {
	w.t.Helper()
	w.send(msg)
	reply := w.recv()
	if strings.HasPrefix(reply, "Rerror") {
		w.t.Fatalf("%s: %s", msg, reply)
	}
	return reply
}

// expect fails the test unless the next replies are these.
func (w *wire) expect(replies ...string) {
	w.t.Helper()
	for _, want := range replies {
		if got := w.recv(); got != want {
			w.t.Fatalf("reply %s; want %s", got, want)
		}
	}
}
