package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
)

// Prompts of one session run one after the other, in order; those of two run at
// the same time. What is cancelled was running, and the rest of the queue stays.
func TestInvariant_session_serialization(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	a := session(t, c, "main")
	b, err := c.CreateSession(ctx(t), "side")
	if err != nil {
		t.Fatal(err)
	}
	var answers []*fs.Stream
	for i := range 5 {
		answers = append(answers, prompt(t, a, fmt.Sprintf("$ mkdir busy && echo %d >>order && rmdir busy", i)).Answer)
	}
	for _, x := range answers {
		if got, err := read(t, x); err != nil || strings.Contains(got, "busy") {
			t.Fatalf("two ran at once: %q, %v", got, err)
		}
	}
	if order, _ := os.ReadFile(filepath.Join(c.Dir, "order")); string(order) != "0\n1\n2\n3\n4\n" {
		t.Fatalf("order %q", order)
	}
	// Each waits for what the other makes.
	x := prompt(t, a, "$ mkfifo left right; touch made; cat left >/dev/null; echo done >right")
	eventually(t, "the first session's command", exists(filepath.Join(c.Dir, "made")))
	y := prompt(t, b, "$ echo go >left; cat right")
	if got, err := read(t, y.Answer); err != nil || got != "done\n" {
		t.Fatalf("the second session: %q, %v", got, err)
	}
	if _, err := read(t, x.Answer); err != nil {
		t.Fatal(err)
	}
}

// The same conversation id on two platforms, and the same session name in two
// offices, share nothing.
func TestInvariant_runtime_composite_identity(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	one, two := l.office(rt, "one"), l.office(rt, "two")
	answer(t, session(t, one, "main"), "$ echo from one >mark")
	if got := answer(t, session(t, two, "main"), "$ cat mark"); !strings.Contains(got, "No such file") {
		t.Fatalf("two sees %q", got)
	}
	if strings.Contains(transcriptOf(t, session(t, two, "main")), "from one") {
		t.Fatal("two's transcript has one's prompt")
	}
	a, b := runtime.Address{Platform: "slack", ConversationID: "C-1"}, runtime.Address{Platform: "slack", ConversationID: "C_1"}
	if l.ws.Office(a).Dir == l.ws.Office(b).Dir {
		t.Fatal("two ids share a directory")
	}
}

// A runner that cannot be made leaves nothing behind: the prompt is settled with
// the reason, and the next one finds a working session.
func TestInvariant_runner_materialization_rollback(t *testing.T) {
	l := newLab(t)
	broken := errors.New("the computer is on fire")
	var mu sync.Mutex
	l.computer = func(ctx context.Context, o *runtime.Office) (harness.Computer, string, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken != nil {
			return nil, "", broken
		}
		return computer(ctx, o)
	}
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	_, err := read(t, prompt(t, s, "$ echo lost").Answer)
	if !errors.Is(err, fs.IO) || !strings.Contains(err.Error(), "on fire") {
		t.Fatalf("err %v", err)
	}
	if st := status(t, s); !strings.Contains(st, "state idle\nqueued 0\n") || !strings.Contains(st, "last failed\nerror the computer is on fire\n") {
		t.Fatalf("status\n%s", st)
	}
	mu.Lock()
	broken = nil
	mu.Unlock()
	if got := answer(t, s, "$ echo works"); got != "works\n" {
		t.Fatalf("the next answer is %q", got)
	}
}

// A run is over for everyone at the same moment: when its answer ends, the
// status, the log and the transcript have it, and wait returns.
func TestInvariant_run_settlement(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	for i := range 20 {
		answer(t, s, fmt.Sprintf("$ echo %d", i))
		if st := status(t, s); !strings.Contains(st, "last ok\n") || !strings.Contains(st, "queued 0\n") {
			t.Fatalf("status after the answer\n%s", st)
		}
		size, _, err := c.LogSize(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, size)
		n, _ := c.ReadLog(ctx(t), buf, 0)
		if got := strings.Count(string(buf[:n]), "\n"); got != 2*(i+1) {
			t.Fatalf("%d log records after %d answers", got, i+1)
		}
		if err := s.Wait(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
}

// What a live runner was made of is not changed under it: EBUSY, and no write.
func TestInvariant_settings_runner_coherence(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ mkfifo gate; touch ready; cat gate")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	for name, change := range map[string]func() error{
		"model at the office":    func() error { return c.Command(ctx(t), ann, "model demo/echo") },
		"thinking at the office": func() error { return c.Command(ctx(t), ann, "thinking high") },
		"model at the session":   func() error { return s.Command(ctx(t), ann, "model demo/echo") },
		"settings.json":          func() error { return c.SetSettings(ctx(t), []byte(`{"llm":{"thinkingLevel":"high"}}`)) },
		"archive":                func() error { return c.Command(ctx(t), ann, "archive") },
	} {
		if err := change(); !errors.Is(err, fs.Busy) {
			t.Errorf("%s while busy: %v", name, err)
		}
	}
	if _, err := os.Lstat(c.Settings); !os.IsNotExist(err) {
		t.Errorf("settings were written: %v", err)
	}
	// What is read when it is used may be changed at any time, and the daemon's
	// settings too: they count from the next prompt on.
	if err := c.SetSettings(ctx(t), []byte(`{"sandbox":{"cpus":"2"}}`)); err != nil {
		t.Error(err)
	}
	if err := rt.SetSettings([]byte(`{"llm":{"provider":"demo","model":"echo","thinkingLevel":"low"}}`)); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "gate"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, running.Answer); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.Command(ctx(t), ann, "thinking high"); err != nil {
		t.Error(err)
	}
	if st := status(t, s); !strings.Contains(st, "thinking high\n") {
		t.Errorf("status\n%s", st)
	}
}
