package runtime_test

import (
	"context"
	"database/sql"
	"errors"
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

// age makes what waits in an office older than any accident.
func (l *lab) age(a runtime.Address) {
	l.t.Helper()
	db, err := sql.Open("sqlite", "file:"+l.ws.Office(a).Sessions)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = db.Exec(`UPDATE prompt SET accepted = accepted - 3600000 WHERE state = 'queued'`)
	if err := errors.Join(err, db.Close()); err != nil {
		l.t.Fatal(err)
	}
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
	l.age(runtime.Address{Platform: "bus", ConversationID: "C1"})
	for range 4 {
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

// Of what was being prepared when the daemon died, only what it dies of is parked.
func TestFault_Q4_no_prompt_is_parked_for_what_another_did(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	rt := l.start()
	names := []string{"a", "b", "c"}
	for _, name := range names {
		prompt(t, session(t, l.office(rt, name), "main"), "$ echo ran >>ran")
		<-making
		l.age(runtime.Address{Platform: "local", ConversationID: name})
	}
	l.start() // nobody knows yet whose fault it is
	for range names {
		<-making
	}
	var poison []string
	for range 3 {
		rt = l.start()
		<-making
		if poison = rt.Running(); len(poison) != 1 {
			t.Fatalf("at work: %v, want only one at a time", poison)
		}
	}
	works.Store(true)
	rt = l.start()
	for _, name := range names {
		c := l.office(rt, name)
		s := session(t, c, "main")
		if err := s.Wait(ctx(t)); err != nil {
			t.Fatal(err)
		}
		if parked := strings.Contains(status(t, s), "error parked: "); parked != (poison[0] == "local/"+name+"/sessions/main") || exists(filepath.Join(c.Dir, "ran"))() == parked {
			t.Errorf("%s: parked %v\n%s", name, parked, status(t, s))
		}
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
