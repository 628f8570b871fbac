package runtime_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"mikan/adapters/fake"
	"mikan/harness"
	"mikan/runtime"
)

// heavy makes the lab's computers block until their run is ended, and tells of each
// that is to be made, as long as works is false.
func (l *lab) heavy() (making chan struct{}, works *atomic.Bool) {
	making, works = make(chan struct{}, 100), &atomic.Bool{}
	l.computer = func(c context.Context, o *runtime.Office) (harness.Computer, string, error) {
		if works.Load() {
			return computer(c, o)
		}
		making <- struct{}{}
		<-c.Done()
		return nil, "", c.Err()
	}
	return making, works
}

// A runtime that is left alone in the middle of a start is, to the next on the same
// state directory, one that was killed.
func TestFault_Q4_a_prompt_that_kills_the_daemon_is_parked(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "poison")
	c.say("C1", "$ echo ran >>ran")
	<-making
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	c.stop()
	for range 2 {
		l.start()
		<-making
	}
	works.Store(true)
	c = l.join(l.start(), "bus", c.bus)
	answers := c.answers("C1", 2)
	if want := "failed: parked: the daemon died 3 times in a row before this prompt could begin"; !strings.HasPrefix(answers[0], want) {
		t.Errorf("%q, want %q", answers[0], want)
	}
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if got, err := os.ReadFile(filepath.Join(o.Dir, "ran")); err != nil || string(got) != "ran\n" {
		t.Errorf("what waits behind it: %q, %v", got, err)
	}
}

func TestFault_Q4_an_end_as_it_should_be_parks_nothing(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	rt := l.start()
	c := l.office(rt, "demo")
	prompt(t, session(t, c, "main"), "$ echo ran >>ran")
	<-making
	for range 5 {
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		rt = l.start()
		<-making
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	works.Store(true)
	c = l.office(l.start(), "demo")
	if err := session(t, c, "main").Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(got) != "ran\n" {
		t.Errorf("it ran %q, %v", got, err)
	}
}

// A stop that comes while a run is being prepared ends that run, and never the one
// behind it, which runs once.
func TestFault_Q5_a_stop_during_preparation_spares_the_next(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	for range 20 {
		works.Store(false)
		first := prompt(t, s, "$ echo first >>ran")
		<-making
		works.Store(true)
		next := prompt(t, s, "$ echo next >>ran")
		s.Stop()
		if got, err := read(t, first.Answer); err != nil || got != "" {
			t.Fatalf("what was stopped: %q, %v", got, err)
		}
		if _, err := read(t, next.Answer); err != nil {
			t.Fatal(err)
		}
		if st := status(t, s); !strings.Contains(st, "last ok\n") {
			t.Fatalf("status\n%s", st)
		}
		// The runner is made anew after a change of what it is made of.
		if err := rt.SetSettings([]byte(`{"llm":{"provider":"demo","model":"echo"}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(got) != strings.Repeat("next\n", 20) {
		t.Errorf("it ran %q, %v", got, err)
	}
}
