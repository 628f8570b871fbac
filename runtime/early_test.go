package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mikan/runtime"
)

// What comes in while the daemon starts waits until what a crash interrupted is
// closed: it would be taken for such a run, and its answer be lost.
func TestResume_comes_before_what_comes_in_early(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	prompt(t, session(t, l.office(l.start(), "demo"), "main"), "$ echo crashed")
	<-making // and left alone there, as if it had been killed
	rt, err := runtime.Start(context.Background(), l.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	c := l.office(rt, "demo")
	other := l.office(rt, "other") // without anything that is to be closed
	works.Store(true)
	s := session(t, c, "main")
	early := prompt(t, s, "$ echo early")
	elsewhere := prompt(t, session(t, other, "main"), "$ echo elsewhere")
	select {
	case <-elsewhere.Answer.Done():
		t.Error("it was answered before the time")
	case <-time.After(200 * time.Millisecond):
	}
	if err := rt.Resume(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, early.Answer); err != nil || got != "early\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := read(t, elsewhere.Answer); err != nil || got != "elsewhere\n" {
		t.Errorf("%q, %v", got, err)
	}
	if st := status(t, s); !strings.Contains(st, "last ok\n") {
		t.Errorf("status\n%s", st)
	}
}
