package fs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mikan/fs"
)

func TestClosingTheFileSettlesWhatItHeld(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	first, second := d.ask(t.Context(), line(`1`)), d.ask(t.Context(), line(`2`))
	l := d.hook.Listeners()[0]
	next(t, f)
	next(t, f)
	ok(t, say(f, "1 al")) // which is not an answer yet
	want(t, f.Close(), fs.Invalid)
	for _, done := range []<-chan answered{first, second} {
		if r := <-done; !errors.Is(r.err, fs.ErrGone) {
			t.Errorf("answer %+v", r)
		}
	}
	<-l.Done()
	_, err := l.Ask(t.Context(), line(`3`))
	if !errors.Is(err, fs.ErrGone) || len(d.hook.Listeners()) != 0 {
		t.Errorf("%v; %d listeners", err, len(d.hook.Listeners()))
	}
}

func TestTheEndOfTheServiceIsTheEndOfItsFiles(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	done := d.ask(t.Context(), line(`1`))
	next(t, f)
	d.hook.Close()
	if r := <-done; !errors.Is(r.err, fs.ErrGone) {
		t.Errorf("answer %+v", r)
	}
	if data, err := readFile(f); err != nil || data != "" {
		t.Errorf("read %q, %v", data, err)
	}
	want(t, say(f, "1 allow\n"), fs.Invalid)
	_, err := d.Client.Open(t.Context(), "hook", fs.Read|fs.Write)
	want(t, err, fs.NotExist)
}

func TestASilentListenerIsLeftOutUntilItReadsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.hook.Timeout = 5 * time.Second
		f := d.open()
		defer f.Close()
		began := time.Now()
		r := <-d.ask(t.Context(), line(`1`))
		want(t, r.err, fs.Timeout)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		if len(d.hook.Listeners()) != 0 {
			t.Error("it is asked again")
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := f.ReadContext(over, make([]byte, 10))
		want(t, err, fs.Interrupted) // the question was withdrawn
		done := d.ask(t.Context(), line(`2`))
		next(t, f)
		time.Sleep(time.Minute)
		want(t, (<-done).err, fs.Timeout)
		want(t, say(f, "2 allow\n"), fs.Invalid) // late, but it lives
		if len(d.hook.Listeners()) != 1 {
			t.Error("it is not asked any more")
		}
	})
}

// A client that reads ahead is asked again though it has let a question time out:
// it will not begin another read before there is one to be read.
func TestASilentListenerThatReadsAheadIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.hook.Timeout = 5 * time.Second
		f := d.open()
		lines := make(chan string)
		go func() {
			for range 2 {
				p := make([]byte, fs.MaxRequestLine)
				n, _ := f.Read(p)
				lines <- string(p[:n])
			}
		}()
		done := d.ask(t.Context(), line(`1`))
		<-lines
		want(t, (<-done).err, fs.Timeout)
		if n := len(d.hook.Listeners()); n != 1 {
			t.Fatalf("%d listeners are asked", n)
		}
		done = d.ask(t.Context(), line(`2`))
		<-lines
		want(t, (<-done).err, fs.Timeout)
		if n := len(d.hook.Listeners()); n != 0 {
			t.Errorf("%d listeners are asked, and none reads", n)
		}
		ok(t, f.Close())
	})
}

func TestACancelledQuestionIsNobodysFault(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	done := d.ask(ctx, line(`1`))
	p := make([]byte, 2)
	_, err := f.Read(p)
	ok(t, err)
	cancel()
	r := <-done
	want(t, r.err, fs.Interrupted)
	if !errors.Is(r.err, context.Canceled) {
		t.Error(r.err)
	}
	if got := next(t, f); got != "1\n" { // what was begun is read to its end
		t.Errorf("the rest is %q", got)
	}
	want(t, say(f, "1 allow\n"), fs.Invalid)
	if len(d.hook.Listeners()) != 1 {
		t.Error("it is not asked any more")
	}
	_, err = d.hook.Listeners()[0].Ask(ctx, line(`1`))
	want(t, err, fs.Interrupted)
}

func TestTooManyQuestionsAreRefused(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	ctx, cancel := context.WithCancel(t.Context())
	l := d.hook.Listeners()[0]
	done := make(chan error)
	for range 257 {
		go func() { _, err := l.Ask(ctx, line(`1`)); done <- err }()
	}
	want(t, <-done, fs.Again)
	cancel()
	for range 256 {
		want(t, <-done, fs.Interrupted)
	}
	ok(t, f.Close())
	defer d.open().Close()
	_, err := d.hook.Listeners()[0].Ask(t.Context(), line(`{`))
	want(t, err, fs.Invalid)
	_, err = d.hook.Listeners()[0].Ask(t.Context(), line(`"`+strings.Repeat("x", 1024)+`"`))
	want(t, err, fs.TooBig)
	_, err = d.hook.Listeners()[0].Ask(t.Context(), fs.Question{Line: json.RawMessage(`[]`), Body: []byte("x")})
	want(t, err, fs.Invalid)
}

func TestListenersStandInOrderOfRankAndThenOfOpening(t *testing.T) {
	s := &fs.Service{Mode: 0o666, Rank: func(who *fs.Identity) int { return int(who.UID) }}
	tree := newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"s": s}})
	for i, uid := range []uint32{7, 3, 7, 1, 3} {
		f, err := client(t, tree, &fs.Identity{UID: uid}).Open(t.Context(), "s", fs.Read|fs.Write)
		ok(t, err)
		defer f.Close()
		if i == 0 {
			past := &fs.Identity{UID: 1, Until: time.Now().Add(time.Millisecond)}
			f, err := client(t, tree, past).Open(t.Context(), "s", fs.Read|fs.Write)
			ok(t, err)
			defer f.Close()
			<-time.After(time.Until(past.Until))
		}
	}
	var got []string
	for _, l := range s.Listeners() {
		got = append(got, fmt.Sprintf("%d:%d", l.Identity().UID, l.Number()))
	}
	if fmt.Sprint(got) != "[1:5 3:3 3:6 7:1 7:4]" {
		t.Errorf("order %v", got)
	}
}

func TestForGivesTheSameListenerAsLongAsItLives(t *testing.T) {
	s := &fs.Service{}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"s": s}}), owner)
	if s.For("a") != nil {
		t.Error("a listener out of nowhere")
	}
	var files []*fs.File
	for range 2 {
		f, err := c.Open(t.Context(), "s", fs.Read|fs.Write)
		ok(t, err)
		files = append(files, f)
	}
	a, b := s.For("a"), s.For("b")
	if a == b || s.For("a") != a || s.For("b") != b || s.For("c") != a {
		t.Error("not shared out, or not kept")
	}
	ok(t, files[0].Close())
	if s.For("a") != b || s.For("c") != b {
		t.Error("not taken over")
	}
	s.Forget("a")
	ok(t, files[1].Close())
	if s.For("a") != nil {
		t.Error("a listener that is gone")
	}
}

func TestWhoHoldsAQuestionIsKnown(t *testing.T) {
	d := newDesk(t)
	mine := &fs.Identity{UID: owner.UID, PID: os.Getpid()}
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"hook": d.hook}})
	f, err := client(t, tree, mine).Open(t.Context(), "hook", fs.Read|fs.Write)
	ok(t, err)
	defer f.Close()
	if d.hook.Holds(mine) {
		t.Error("without a question")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := d.ask(ctx, line(`1`))
	next(t, f)
	for name, c := range map[string]struct {
		who  *fs.Identity
		want bool
	}{
		"itself":               {mine, true},
		"its process":          {&fs.Identity{UID: owner.UID, PID: os.Getpid()}, true},
		"its parent":           {&fs.Identity{UID: owner.UID, PID: os.Getppid()}, false},
		"an unknown process":   {&fs.Identity{UID: owner.UID}, false},
		"another user":         {&fs.Identity{UID: other.UID, PID: os.Getpid()}, false},
		"another's connection": {&fs.Identity{UID: owner.UID, PID: os.Getpid(), Rights: fs.Rights{}}, false},
		"a child":              {&fs.Identity{UID: owner.UID, PID: childPID(t)}, true},
	} {
		if got := d.hook.Holds(c.who); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	cancel()
	<-done
	if d.hook.Holds(mine) {
		t.Error("after the question")
	}
}

// childPID is a process that this one has started.
func childPID(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cat")
	_, err := cmd.StdinPipe() // it ends when this is closed
	ok(t, err)
	ok(t, cmd.Start())
	t.Cleanup(func() { cmd.Wait() })
	return cmd.Process.Pid
}

func readFile(f *fs.File) (string, error) {
	data, err := io.ReadAll(f)
	return string(data), err
}

func TestReplySaysWhetherTheRequestWasTaken(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	first, second := d.ask(t.Context(), line(`1`)), d.ask(t.Context(), line(`2`))
	next(t, f)
	f.Close()
	taken := 0
	for _, done := range []<-chan answered{first, second} {
		r := <-done
		if !errors.Is(r.err, fs.ErrGone) {
			t.Errorf("answer %+v", r)
		}
		if r.Taken {
			taken++
		}
	}
	if taken != 1 {
		t.Errorf("%d of 2 requests were taken, one line was read", taken)
	}
}

func TestReadyTellsOfWhoCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.hook.Timeout = 5 * time.Second
		ready := make(chan int, 10)
		d.hook.Ready = func() { ready <- len(d.hook.Listeners()) }
		f := d.open()
		defer f.Close()
		if n := <-ready; n != 1 {
			t.Errorf("%d at the open", n)
		}
		done := d.ask(t.Context(), line(`1`))
		next(t, f)
		want(t, (<-done).err, fs.Timeout)
		want(t, say(f, "1 allow\n"), fs.Invalid)
		if n := <-ready; n != 1 || len(ready) != 0 {
			t.Errorf("%d at the first sign of life, and %d more calls", n, len(ready))
		}
	})
}
