package runtime_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

var leisure = context.Background() // no hurry

// ends calls Shutdown and gives its error when it has returned.
func ends(rt *runtime.Runtime, hurry context.Context, drain time.Duration) <-chan error {
	done := make(chan error, 1)
	go func() { done <- rt.Shutdown(hurry, drain) }()
	return done
}

func ended(t testing.TB, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatal("the end does not come")
		return nil
	}
}

// refuses waits until the runtime takes nothing new.
func refuses(t testing.TB, s *runtime.Session) {
	t.Helper()
	eventually(t, "the refusal", func() bool {
		_, err := s.Prompt(ctx(t), ann, store.KindFollowup, "$ echo refused >>refused")
		return errors.Is(err, fs.Again)
	})
}

// The end: nothing new is taken, what runs ends by itself, what waits is left to the
// next start, and what was said is posted before those who post it are hung up on.
func TestInvariant_process_shutdown_order(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ mkfifo gate; touch ready; cat gate; echo first")
	a := runtime.Address{Platform: "bus", ConversationID: "C1"}
	o := c.rt.Workspace().Office(a)
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	c.say("C1", "$ touch second")
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	office, err := c.rt.Conversation(a)
	if err != nil {
		t.Fatal(err)
	}
	done := ends(c.rt, leisure, patience)
	for _, refused := range []func() error{
		func() error {
			_, err := c.rt.Create(ctx(t), runtime.Address{Platform: "local", ConversationID: "new"})
			return err
		},
		func() error {
			_, err := session(t, office, "main").Prompt(ctx(t), ann, store.KindSteer, "x")
			return err
		},
		func() error {
			return c.deliver(wire.InMessage{ID: "3", TS: "3", Conversation: "C1", Session: "C1", User: "U1", Text: "late"})
		},
	} {
		eventually(t, "the refusal", func() bool { return errors.Is(refused(), fs.Again) })
	}
	select {
	case err := <-done:
		t.Fatalf("it has not waited: %v", err)
	default:
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "gate"), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, done); err != nil {
		t.Fatal(err)
	}
	same(t, "posted before the end", c.bus.Answers("C1"), []string{"first"})
	if exists(filepath.Join(o.Dir, "second"))() {
		t.Error("what waited was begun while the daemon ended")
	}
	c = c.restart()
	eventually(t, "what waited", exists(filepath.Join(o.Dir, "second")))
	c.quiet()
}

// Who is interrupted is told, on the platform as in the files, and what waits is not
// lost.
func TestFault_21_34_an_end_tells_whom_it_interrupts_and_loses_nothing(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ echo begun; touch ready; sleep 600")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	c.say("C1", "B")
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	err := ended(t, ends(c.rt, leisure, 50*time.Millisecond))
	if err == nil || err.Error() != "interrupted bus/C1/sessions/main, which had not ended within 50ms" {
		t.Errorf("err %v", err)
	}
	const told = "interrupted: the daemon ended while it ran"
	same(t, "told before the end", c.bus.Answers("C1"), []string{told})
	c = c.restart()
	same(t, "answers", c.answers("C1", 2), []string{told, "demo: B"})
}

// Without an adapter the notice waits for one.
func TestFault_21_34_the_notice_outlives_the_daemon(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ touch ready; sleep 600")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	c.stop()
	if err := c.rt.Shutdown(leisure, 0); err != nil {
		t.Errorf("nobody was to be waited for: %v", err)
	}
	c = c.restart()
	same(t, "answers", c.answers("C1", 1), []string{"interrupted: the daemon ended while it ran"})
}

func TestShutdown_in_a_hurry_waits_for_nobody(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ trap '' TERM; touch ready; sleep 600")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	hurry, now := context.WithCancel(context.Background())
	done := ends(rt, hurry, time.Hour)
	refuses(t, s)
	now()
	if err := ended(t, done); err == nil || err.Error() != "interrupted local/demo/sessions/main" {
		t.Errorf("err %v", err)
	}
	if _, err := read(t, running.Answer); !errors.Is(err, fs.IO) || !strings.Contains(err.Error(), "interrupted: the daemon ended") {
		t.Errorf("the answer ends with %v", err)
	}
}

// What is half made is undone, and its prompt stays in the queue.
func TestShutdown_undoes_a_runner_in_the_making(t *testing.T) {
	l := newLab(t)
	making, works := l.heavy()
	rt := l.start()
	c := l.office(rt, "demo")
	prompt(t, session(t, c, "main"), "$ echo ran >>ran")
	<-making
	if err := ended(t, ends(rt, leisure, 10*time.Millisecond)); err == nil || !strings.HasPrefix(err.Error(), "interrupted local/demo/sessions/main, ") {
		t.Errorf("err %v", err)
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

// Each step is tried and its failure told, also when one before it has failed.
func TestShutdown_joins_what_fails(t *testing.T) {
	l := newLab(t)
	release, making := make(chan struct{}), make(chan struct{})
	l.computer = func(context.Context, *runtime.Office) (harness.Computer, string, error) {
		close(making)
		<-release // whatever it is told
		return nil, "", errors.New("too late")
	}
	rt := l.start()
	prompt(t, session(t, l.office(rt, "demo"), "main"), "hello")
	<-making
	hurry, now := context.WithCancel(context.Background())
	now()
	err := ended(t, ends(rt, hurry, time.Hour))
	if want := "interrupted local/demo/sessions/main\nlocal/demo/sessions/main did not settle within 1s"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	close(release)
}

func TestShutdown_is_done_once(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	prompt(t, session(t, c, "main"), "$ touch ready; sleep 600")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	failures := 0
	first, second := ends(rt, leisure, 100*time.Millisecond), ends(rt, leisure, 100*time.Millisecond)
	for _, done := range []<-chan error{first, second} {
		if ended(t, done) != nil {
			failures++
		}
		if names := rt.Running(); len(names) > 0 {
			t.Errorf("it returned while %v ran", names)
		}
	}
	if err := rt.Close(); err != nil || failures != 1 {
		t.Errorf("%d failures, and %v", failures, err)
	}
}

func TestShutdown_of_what_is_idle_is_quick(t *testing.T) {
	l := newLab(t)
	l.outbox.First = time.Hour
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "hello")
	c.quiet()
	if err := c.rt.Shutdown(leisure, time.Hour); err != nil {
		t.Fatal(err)
	}
}

// An end that cannot record what it has ended says so, and so does the answer.
func TestShutdown_tells_of_what_it_cannot_settle(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	running := prompt(t, session(t, c, "main"), "$ touch ready; sleep 600")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	db, err := sql.Open("sqlite", "file:"+c.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TRIGGER full BEFORE UPDATE ON prompt WHEN new.state = 'settled' BEGIN SELECT raise(FAIL, 'no space'); END`); err != nil {
		t.Fatal(err)
	}
	err = ended(t, ends(rt, leisure, 0))
	if err == nil || !strings.HasPrefix(err.Error(), "local/demo/sessions/main: its run cannot be settled, which the next start does: ") {
		t.Errorf("err %v", err)
	}
	if _, err := read(t, running.Answer); !errors.Is(err, fs.IO) || !strings.Contains(err.Error(), "no space") {
		t.Errorf("the answer ends with %v", err)
	}
	if _, err := db.Exec(`DROP TRIGGER full`); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	c = l.office(l.start(), "demo")
	if st := status(t, session(t, c, "main")); !strings.Contains(st, "last interrupted\n") {
		t.Errorf("status\n%s", st)
	}
}
