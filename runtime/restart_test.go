package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
	"mikan/runtime/store"
)

func TestRestart_closes_what_ran_and_goes_on_with_what_waits(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ echo ran >>ran; touch ready; sleep 60")
	prompt(t, s, "$ echo waited >>waited")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, running.Answer); !errors.Is(err, fs.IO) {
		t.Fatalf("the interrupted answer ends with %v", err)
	}
	if _, err := s.Prompt(ctx(t), ann, store.KindPrompt, "late"); !errors.Is(err, fs.Again) {
		t.Fatalf("a prompt after the end: %v", err)
	}

	rt = l.start()
	c = l.office(rt, "demo")
	s = session(t, c, "main")
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ran": "ran\n", "waited": "waited\n"} {
		if got, err := os.ReadFile(filepath.Join(c.Dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if st := status(t, s); !strings.Contains(st, "last ok\n") {
		t.Errorf("status\n%s", st)
	}
}

// A prompt that the end of the daemon found before it left the queue runs after
// the restart.
func TestRestart_runs_what_had_not_begun(t *testing.T) {
	l := newLab(t)
	leasing := make(chan struct{})
	var first sync.Once
	l.computer = func(c context.Context, o *runtime.Office) (harness.Computer, string, error) {
		wait := false
		first.Do(func() { wait = true })
		if wait {
			close(leasing)
			<-c.Done()
			return nil, "", c.Err()
		}
		return computer(c, o)
	}
	rt := l.start()
	c := l.office(rt, "demo")
	prompt(t, session(t, c, "main"), "$ echo ran >>ran")
	<-leasing
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c = l.office(rt, "demo")
	if err := session(t, c, "main").Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(got) != "ran\n" {
		t.Fatalf("it ran %q, %v", got, err)
	}
}

func TestStart_runs_nothing_before_resume(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	prompt(t, s, "$ touch ready; sleep 60")
	prompt(t, s, "$ echo ran >>ran")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 { // starts that fail before they resume
		rt, err := runtime.Start(ctx(t), l.config())
		if err != nil {
			t.Fatal(err)
		}
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
	}
	rt = l.start()
	c = l.office(rt, "demo")
	if err := session(t, c, "main").Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(got) != "ran\n" {
		t.Fatalf("it ran %q, %v", got, err)
	}
}

func TestStart_opens_no_office_without_work(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "quiet")
	answer(t, session(t, c, "main"), "$ true")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	// Were it opened, this would stop the start.
	if err := os.WriteFile(c.Sessions, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	l.start()
}

func TestResume_goes_on_without_an_office_that_cannot_be_opened(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	good, bad := l.office(rt, "good"), l.office(rt, "bad")
	for _, c := range []*runtime.Conversation{good, bad} {
		prompt(t, session(t, c, "main"), "$ touch ready; sleep 60")
		prompt(t, session(t, c, "main"), "$ echo ran >ran")
		eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bad.Sessions, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	if err := session(t, l.office(rt, "good"), "main").Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(good.Dir, "ran"))() {
		t.Fatal("the good office did not go on")
	}
}
