package runtime_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

func TestStop_ends_the_run_and_keeps_the_queue(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ echo begun; touch ready; trap '' TERM; sleep 60 & wait")
	waiting := prompt(t, s, "$ echo next")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	began := time.Now()
	if err := c.Command(ctx(t), ann, "stop"); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, running.Answer); err != nil {
		t.Fatalf("a stopped answer ends with %v, want its end", err)
	}
	if d := time.Since(began); d > time.Second {
		t.Errorf("stop took %v", d)
	}
	if got, err := read(t, waiting.Answer); err != nil || got != "next\n" {
		t.Fatalf("what waited: %q, %v", got, err)
	}
	if n := strings.Count(transcriptOf(t, s), `"role":"toolResult"`); n != 2 {
		t.Errorf("%d tool results, want 2", n)
	}
}

// A stop is for what had been accepted when it came, never for what comes later.
func TestStop_spares_what_comes_after_it(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	for i, verb := range []string{"stop", "new", "stop", "new", "stop", "new", "stop", "new"} {
		for range 5 {
			answer(t, s, "one")
			if err := c.Command(ctx(t), ann, verb); err != nil {
				t.Fatal(err)
			}
			if got := answer(t, s, fmt.Sprintf("$ echo %d", i)); got != fmt.Sprintf("%d\n", i) {
				t.Fatalf("after %s: %q", verb, got)
			}
		}
	}
}

// A stop reaches a prompt that was accepted before it, even if its run has not
// begun.
func TestStop_reaches_what_is_about_to_run(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	for range 20 {
		a := prompt(t, s, "$ sleep 60")
		s.Stop()
		if _, err := read(t, a.Answer); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNew_hides_the_past_and_keeps_it(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	answer(t, s, "first words")
	running := prompt(t, s, "$ touch ready; sleep 60")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	if err := c.Command(ctx(t), ann, "new"); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, running.Answer); err != nil {
		t.Fatal(err)
	}
	answer(t, s, "second words")
	text := transcriptOf(t, s)
	if !strings.Contains(text, "first words") {
		t.Fatal("the past is gone")
	}
	at := strings.Index(text, wire.CustomReset)
	if at < 0 || strings.Index(text, "second words") < at || strings.Index(text, `"name":"bash"`) > at {
		t.Fatalf("the branch does not begin after what was stopped:\n%s", text)
	}
	if err := c.Command(ctx(t), ann, "fork side"); err != nil {
		t.Fatal(err)
	}
	fork := transcriptOf(t, session(t, c, "side"))
	if strings.Contains(fork, "first words") || !strings.Contains(fork, "second words") {
		t.Fatalf("the fork has\n%s", fork)
	}
}

func TestSteer_goes_into_the_run(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ mkfifo gate; touch ready; cat gate")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	steer, err := s.Prompt(ctx(t), ann, store.KindSteer, "$ echo steered")
	if err != nil {
		t.Fatal(err)
	}
	reply, err := s.Reply(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "gate"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*fs.Stream{"the run": running.Answer, "the steer": steer.Answer, "reply": reply} {
		if got, err := read(t, a); err != nil || !strings.Contains(got, "steered\n") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if st := status(t, s); !strings.Contains(st, "queued 0\n") {
		t.Errorf("status\n%s", st)
	}
	if text := transcriptOf(t, s); strings.Count(text, `"role":"user"`) != 2 {
		t.Errorf("transcript\n%s", text)
	}
}

func TestStop_reaches_what_a_start_is_about_to_run(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "a")
	s := session(t, c, "main")
	prompt(t, s, "$ touch begun; sleep 1000")
	eventually(t, "the first", exists(filepath.Join(c.Dir, "begun")))
	prompt(t, s, "$ touch second")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(context.Background(), l.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	c = l.office(rt, "a")
	s = session(t, c, "main")
	release := s.Hold()
	if err := rt.Resume(ctx(t)); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	release()
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := status(t, s); !strings.Contains(got, "last stopped\n") || exists(filepath.Join(c.Dir, "second"))() {
		t.Errorf("the second ran all the same\n%s", got)
	}
}
