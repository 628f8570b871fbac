package runtime_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mikan/fs"
	"mikan/harness"
	"mikan/harness/mcp"
	"mikan/harness/models"
	"mikan/podman/host"
	"mikan/runtime"
	"mikan/runtime/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// lab is a state directory and a workspace on which runtimes are started, one
// after the other.
type lab struct {
	t        testing.TB
	ws       *runtime.Workspace
	computer func(context.Context, *runtime.Office) (harness.Computer, string, error)
	outbox   runtime.OutboxTimes
	mcp      mcp.Options
}

func newLab(t testing.TB) *lab {
	t.Helper()
	dir := t.TempDir()
	l := &lab{t: t, computer: computer, outbox: runtime.OutboxTimes{First: 5 * time.Millisecond, Most: 20 * time.Millisecond}}
	l.ws = l.workspace(dir)
	for _, d := range []string{l.ws.Root, l.ws.StateDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.write("settings.json", `{"llm":{"provider":"demo","model":"echo"}}`)
	return l
}

func (l *lab) workspace(dir string) *runtime.Workspace {
	w, err := runtime.NewWorkspace(filepath.Join(dir, "ws"), filepath.Join(dir, "state"))
	if err != nil {
		l.t.Fatal(err)
	}
	return w
}

func (l *lab) write(name, text string) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.ws.StateDir, name), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// computer is an office's computer without confinement, which starts faster.
func computer(_ context.Context, o *runtime.Office) (harness.Computer, string, error) {
	c, err := host.New(host.Config{Files: o.Dir, Home: o.Home, Confine: host.None})
	return c, "", err
}

// start starts a runtime that is closed at the end of the test, if it has not
// been by then.
func (l *lab) start() *runtime.Runtime {
	l.t.Helper()
	rt, err := runtime.Start(context.Background(), l.config())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { rt.Close() })
	if err := rt.Resume(context.Background()); err != nil {
		l.t.Fatal(err)
	}
	return rt
}

func (l *lab) config() runtime.Config {
	return runtime.Config{
		Workspace: l.ws,
		LoadModels: func() (*models.Registry, error) {
			return models.Load(models.Options{StateDir: l.ws.StateDir, Env: noEnv})
		},
		Computer: func(ctx context.Context, o *runtime.Office) (harness.Computer, string, error) {
			return l.computer(ctx, o)
		},
		Log:    slog.New(slog.NewTextHandler(io.Discard, nil)),
		Outbox: l.outbox,
		MCP:    l.mcp,
	}
}

func noEnv(string) string { return "" }

func (l *lab) office(rt *runtime.Runtime, name string) *runtime.Conversation {
	l.t.Helper()
	c, err := rt.Create(ctx(l.t), runtime.Address{Platform: "local", ConversationID: name})
	if errors.Is(err, fs.Exist) {
		c, err = rt.Conversation(runtime.Address{Platform: "local", ConversationID: name})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return c
}

func session(t testing.TB, c *runtime.Conversation, name string) *runtime.Session {
	t.Helper()
	s, err := c.Session(ctx(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

var ann = runtime.Actor{ID: "local:ann", Name: "ann"}

func prompt(t testing.TB, s *runtime.Session, text string) runtime.Accepted {
	t.Helper()
	a, err := s.Prompt(ctx(t), ann, store.KindPrompt, text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// read reads an answer to its end.
func read(t testing.TB, a *fs.Stream) (string, error) {
	t.Helper()
	if a == nil {
		return "", nil
	}
	var b strings.Builder
	buf := make([]byte, 512)
	for off := int64(0); ; {
		n, err := a.Read(ctx(t), buf, off)
		b.Write(buf[:n])
		off += int64(n)
		if err != nil || n == 0 {
			return b.String(), err
		}
	}
}

func answer(t testing.TB, s *runtime.Session, text string) string {
	t.Helper()
	got, err := read(t, prompt(t, s, text).Answer)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func transcriptOf(t testing.TB, s *runtime.Session) string {
	t.Helper()
	size, _, err := s.TranscriptSize(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, size)
	for n := 0; n < len(buf); {
		m, err := s.ReadTranscript(ctx(t), buf[n:], int64(n))
		if err != nil || m == 0 {
			t.Fatalf("transcript: %d of %d bytes, %v", n, size, err)
		}
		n += m
	}
	return string(buf)
}

func status(t testing.TB, s *runtime.Session) string {
	t.Helper()
	text, _, err := s.Status(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// eventually waits until ok, which watches a file or a process of a command.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, patience)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Lstat(path); return err == nil }
}
