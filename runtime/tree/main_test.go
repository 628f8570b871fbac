package tree_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/ninep"
	"mikan/harness"
	"mikan/harness/models"
	"mikan/podman/host"
	"mikan/runtime"
	"mikan/runtime/tree"
)

func TestMain(m *testing.M) { fstest.Main(m) }

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// lab is the real tree of a runtime whose model is demo/echo.
type lab struct {
	testing.TB
	ws   *runtime.Workspace
	rt   *runtime.Runtime
	tree *fs.Tree
	root *fs.Client // of the owner, in this process

	mu       sync.Mutex
	shutdown int
	debug    []bool
}

// newLab makes a tree with the offices a and b on the platform local, a platform
// that is called main, and in a and main the tool weather.
func newLab(tb testing.TB) *lab {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	l := &lab{TB: tb}
	if l.ws, err = runtime.NewWorkspace(filepath.Join(dir, "ws"), filepath.Join(dir, "state")); err != nil {
		tb.Fatal(err)
	}
	for _, d := range []string{l.ws.Root, l.ws.StateDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	settings := filepath.Join(l.ws.StateDir, "settings.json")
	if err := os.WriteFile(settings, []byte(`{"llm":{"provider":"demo","model":"echo"}}`), 0o600); err != nil {
		tb.Fatal(err)
	}
	l.rt, err = runtime.Start(context.Background(), runtime.Config{
		Workspace: l.ws,
		LoadModels: func() (*models.Registry, error) {
			return models.Load(models.Options{StateDir: l.ws.StateDir, Env: func(string) string { return "" }})
		},
		Computer: func(_ context.Context, o *runtime.Office) (harness.Computer, string, error) {
			c, err := host.New(host.Config{Files: o.Dir, Home: o.Home, Confine: host.None})
			return c, "", err
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.rt.Close(); err != nil {
			tb.Error(err)
		}
	})
	l.tree = tree.New(l.rt, tree.Daemon{
		Version: "test", Log: emptyLog{}, Status: func() []byte { return []byte("socket /nowhere\n") },
		Shutdown: func() { l.note(func() { l.shutdown++ }) },
		Debug:    func(on bool) { l.note(func() { l.debug = append(l.debug, on) }) },
	})
	l.root = l.client(owner())
	if err := l.rt.Resume(context.Background()); err != nil {
		tb.Fatal(err)
	}
	for _, name := range []string{"offices/local/a", "offices/local/b", "platforms/main", "offices/local/a/tools/weather", "platforms/main/tools/weather"} {
		if err := l.root.Mkdir(l.ctx(), name, 0o750); err != nil {
			tb.Fatal(err)
		}
	}
	return l
}

func owner() *fs.Identity {
	return &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
}

func (l *lab) note(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// client is a client in this process.
func (l *lab) client(who *fs.Identity) *fs.Client {
	l.Helper()
	c, err := l.tree.Client(l.ctx(), who)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	return c
}

// connect gives one end of a connection to who and returns it; the tree is
// served on the other.
func (l *lab) connect(who *fs.Identity) net.Conn {
	l.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		l.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		ends[i], err = net.FileConn(f)
		f.Close()
		if err != nil {
			l.Fatal(err)
		}
	}
	served := make(chan error, 1)
	go func() {
		s := &ninep.Server{Tree: l.tree, Log: slog.New(slog.DiscardHandler)}
		served <- s.ServeConn(context.Background(), ends[1], who)
	}()
	l.Cleanup(func() {
		ends[0].Close()
		<-served
	})
	return ends[0]
}

// dial is a client over 9P.
func (l *lab) dial(who *fs.Identity) *fs.Client {
	l.Helper()
	c, err := ninep.NewClient(l.ctx(), l.connect(who))
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	return c
}

func (l *lab) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	l.Cleanup(cancel)
	return ctx
}

func (l *lab) get(name string) string {
	l.Helper()
	data, err := l.root.ReadFile(l.ctx(), name)
	if err != nil {
		l.Fatal(err)
	}
	return string(data)
}

func (l *lab) put(name, text string) {
	l.Helper()
	if err := l.root.WriteFile(l.ctx(), name, []byte(text)); err != nil {
		l.Fatal(err)
	}
}

// emptyLog is the log of a daemon that has said nothing.
type emptyLog struct{}

func (emptyLog) Size(context.Context) (int64, time.Time, error) { return 0, time.Unix(1e9, 0), nil }

func (emptyLog) ReadAt(context.Context, []byte, int64) (int, error) { return 0, io.EOF }
