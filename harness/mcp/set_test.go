package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/harness"
	"mikan/podman/host"
	"mikan/wire"
)

// lab is a set with what a test looks at.
type lab struct {
	*Set
	t        *testing.T
	computer harness.Computer
}

func newLab(t *testing.T, opt Options, servers ...Config) *lab {
	t.Helper()
	dir := t.TempDir()
	files, home := filepath.Join(dir, "files"), filepath.Join(dir, "home")
	for _, d := range []string{files, home} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c, err := host.New(host.Config{Files: files, Home: home, Confine: host.None})
	if err != nil {
		t.Fatal(err)
	}
	if opt.Wait == 0 {
		opt.Wait = patience
	}
	l := &lab{New(servers, opt), t, c}
	t.Cleanup(l.Close)
	return l
}

func (l *lab) start() { l.Start(ctx(l.t)) }

func ctx(t *testing.T) context.Context {
	c, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return c
}

func (l *lab) status(name string) Status {
	list := l.Status()
	return list[slices.IndexFunc(list, func(s Status) bool { return s.Name == name })]
}

func (l *lab) names() []string {
	var names []string
	for _, t := range l.Tools(l.computer) {
		names = append(names, t.Name)
	}
	return names
}

func (l *lab) call(ctx context.Context, name, args string, progress func(string)) (harness.Result, error) {
	l.t.Helper()
	for _, t := range l.Tools(l.computer) {
		if t.Name == name {
			return t.Run(ctx, json.RawMessage(args), progress)
		}
	}
	l.t.Fatalf("there is no tool %s: %v, %v", name, l.names(), l.Status())
	return harness.Result{}, nil
}

func quiet(string) {}

// said is the text of a result.
func said(r harness.Result) string { return wire.Message{Content: r.Content}.PlainText() }

// fifo makes a FIFO and returns what is written to it. The channel is closed when
// nobody who had opened it holds it open any more.
func fifo(t *testing.T) (name string, written <-chan byte) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	bytes, done := make(chan byte, 1000), make(chan struct{})
	go func() {
		defer close(done)
		defer close(bytes)
		f, err := os.Open(name) // waits for a writer
		if err != nil {
			return
		}
		defer f.Close()
		for r := bufio.NewReader(f); ; {
			b, err := r.ReadByte()
			if err != nil {
				return
			}
			bytes <- b
		}
	}()
	t.Cleanup(func() {
		if f, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close() // lets go of a reader that nobody has met
		}
		<-done
	})
	return name, bytes
}

// take reads n bytes, or until the end if n is negative.
func take(t *testing.T, written <-chan byte, n int) string {
	t.Helper()
	var text []byte
	for len(text) != n {
		select {
		case b, more := <-written:
			if !more {
				return string(text)
			}
			text = append(text, b)
		case <-ctx(t).Done():
			t.Fatalf("waited in vain after %q", text)
		}
	}
	return string(text)
}

func TestSet_callsTools(t *testing.T) {
	l := newLab(t, Options{}, role("good"))
	if got := l.status("good"); got.State != Idle {
		t.Errorf("before anyone wants it, it is %v", got)
	}
	l.start()
	if got := l.status("good").String(); got != "connected, 8 tools" {
		t.Error(got)
	}
	r, err := l.call(ctx(t), "mcp__good__echo", `{"text":"hello"}`, quiet)
	if err != nil || said(r) != "hello" {
		t.Errorf("%q, %v", said(r), err)
	}
	r, err = l.call(ctx(t), "mcp__good__fail", `{"text":"because"}`, quiet)
	if err == nil || said(r) != "no: because" {
		t.Errorf("%q, %v", said(r), err)
	}
	if _, err = l.call(ctx(t), "mcp__good__echo", `{"text":7}`, quiet); err == nil {
		t.Error("arguments that do not fit are taken")
	}
}

func TestSet_environmentIsMadeFromNothing(t *testing.T) {
	t.Setenv("DAEMON_SECRET", "canary-of-the-daemon")
	c := role("good")
	c.Env["GIVEN"] = "given"
	l := newLab(t, Options{}, c)
	l.start()
	r, err := l.call(ctx(t), "mcp__good__environment", `{"text":""}`, quiet)
	if err != nil {
		t.Fatal(err)
	}
	home, _ := os.UserHomeDir()
	want := []string{"DIR=" + home, "GIVEN=given", "HOME=" + home, "LANG=C.UTF-8", roleVar + "=good", "PATH=" + os.Getenv("PATH")}
	got := strings.Split(said(r), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSet_longTextIsSpilled(t *testing.T) {
	l := newLab(t, Options{}, role("good"))
	l.start()
	r, err := l.call(ctx(t), "mcp__good__big", `{"text":"","n":5000}`, quiet)
	if err != nil {
		t.Fatal(err)
	}
	_, note, ok := strings.Cut(said(r), "Full output: ")
	if !ok || !strings.Contains(said(r), "[The first ") {
		t.Fatalf("%.200s … %.200s", said(r), said(r)[max(0, len(said(r))-200):])
	}
	name := strings.TrimSuffix(note, "]")
	all, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(all), "line 1\n") || !strings.Contains(name, "/.mikan/mcp-output/") {
		t.Errorf("%s: %v", name, err)
	}
}

func TestSet_parts(t *testing.T) {
	l := newLab(t, Options{}, role("good"))
	l.start()
	r, err := l.call(ctx(t), "mcp__good__parts", `{"text":""}`, quiet)
	if err != nil {
		t.Fatal(err)
	}
	text := said(r)
	for _, want := range []string{"one\n", "[image (image/png, 8 bytes): ", "[audio (audio/wav, 5 bytes): ", "[file:///x] x an x", "[file:///y]\nwhy"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	images := slices.DeleteFunc(slices.Clone(r.Content), func(p wire.Part) bool { return p.Type != wire.Image })
	if len(images) != 1 || images[0].MimeType != "image/png" {
		t.Errorf("images: %v", images)
	}
}

func TestSet_aCallCanBeStoppedAndTheServerIsTold(t *testing.T) {
	name, f := fifo(t)
	l := newLab(t, Options{}, role("good"))
	l.start()
	stopping, stop := context.WithCancelCause(ctx(t))
	progress := make(chan string, 1)
	begun := make(chan time.Time, 1)
	args, _ := json.Marshal(map[string]string{"text": name})
	go func() {
		if got := <-progress; got != "half way (1/2)" {
			t.Errorf("progress: %q", got)
		}
		begun <- time.Now()
		stop(harness.ErrStopped)
	}()
	_, err := l.call(stopping, "mcp__good__slow", string(args), func(s string) { progress <- s })
	if took := time.Since(<-begun); err == nil || took > time.Second {
		t.Errorf("the call ended %v after the stop: %v", took, err)
	}
	if got := take(t, f, len("cancelled")); got != "cancelled" {
		t.Errorf("the server was told %q", got)
	}
}

func TestSet_aCallHasATimeOut(t *testing.T) {
	l := newLab(t, Options{Call: 50 * time.Millisecond}, role("good"))
	l.start()
	_, err := l.call(ctx(t), "mcp__good__slow", `{"text":""}`, quiet)
	if err == nil || err.Error() != "the MCP server good: it has not answered the call for 50ms" {
		t.Error(err)
	}
}

func TestSet_changedToolsAreThereForTheNextRun(t *testing.T) {
	l := newLab(t, Options{}, role("good"))
	l.start()
	s := l.servers[0]
	s.mu.Lock()
	news := s.news
	s.mu.Unlock()
	if _, err := l.call(ctx(t), "mcp__good__grow", `{"text":"fresh"}`, quiet); err != nil {
		t.Fatal(err)
	}
	select {
	case <-news:
	case <-ctx(t).Done():
		t.Fatal("nothing changed")
	}
	if !slices.Contains(l.names(), "mcp__good__fresh") {
		t.Errorf("the tools are %v", l.names())
	}
}
