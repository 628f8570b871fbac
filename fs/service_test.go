package fs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mikan/fs"
)

var hookVerbs = []fs.Verb{
	{Name: "allow", Informed: true},
	{Name: "deny", Takes: fs.TakesText},
	{Name: "replace", Takes: fs.TakesJSON},
}

// desk is a directory with a hook, and its client.
type desk struct {
	t    *testing.T
	hook *fs.Service
	*fs.Client
}

func newDesk(t *testing.T) *desk {
	bodies := &fs.Bodies{}
	hook := &fs.Service{Verbs: hookVerbs, Bodies: bodies}
	t.Cleanup(hook.Close)
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"hook": hook, fs.BodyDir: bodies}})
	return &desk{t, hook, client(t, tree, owner)}
}

func (d *desk) open() *fs.File {
	d.t.Helper()
	f, err := d.Client.Open(d.t.Context(), "hook", fs.Read|fs.Write)
	ok(d.t, err)
	return f
}

// answered is how a question ended.
type answered struct {
	fs.Reply
	err error
}

// ask puts a question to the first listener.
func (d *desk) ask(ctx context.Context, q fs.Question) <-chan answered {
	d.t.Helper()
	list := d.hook.Listeners()
	if len(list) == 0 {
		d.t.Fatal("nobody listens")
	}
	done := make(chan answered, 1)
	go func() {
		r, err := list[0].Ask(ctx, q)
		done <- answered{r, err}
	}()
	return done
}

func line(text string) fs.Question { return fs.Question{Line: json.RawMessage(text)} }

// next is one read.
func next(t *testing.T, f *fs.File) string {
	t.Helper()
	p := make([]byte, 4096)
	n, err := f.Read(p)
	ok(t, err)
	return string(p[:n])
}

func say(f *fs.File, format string, args ...any) error {
	_, err := fmt.Fprintf(f, format, args...)
	return err
}

func TestAServiceFileIsOpenedForReadingAndWriting(t *testing.T) {
	d := newDesk(t)
	for _, how := range []fs.Flags{fs.Read, fs.Write, fs.Write | fs.Truncate} {
		_, err := d.Client.Open(t.Context(), "hook", how)
		want(t, err, fs.Invalid)
		if !strings.Contains(err.Error(), "exec 3<>file") {
			t.Errorf("%v does not say how", err)
		}
	}
	if n := len(d.hook.Listeners()); n != 0 {
		t.Errorf("%d listeners", n)
	}
}

func TestALineIsReadInPiecesAndAnsweredInPieces(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	done := d.ask(t.Context(), line(`{"a" : 1}`))
	var got []byte
	for p := make([]byte, 1); !bytes.HasSuffix(got, []byte("\n")); got = append(got, p...) {
		_, err := f.Read(p)
		ok(t, err)
	}
	if string(got) != "1 {\"a\":1}\n" {
		t.Errorf("request %q", got)
	}
	for _, part := range []string{"1 den", "y not", " here\r", "\n"} {
		ok(t, say(f, "%s", part))
	}
	if r := <-done; r.err != nil || r.Verb != "deny" || r.Text != "not here" {
		t.Errorf("answer %+v", r)
	}
}

func TestAnInterruptedReadConsumesNothing(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.ReadContext(over, make([]byte, 10))
	want(t, err, fs.Interrupted)
	done := d.ask(t.Context(), line(`{}`))
	if got := next(t, f); got != "1 {}\n" {
		t.Errorf("read %q", got)
	}
	ok(t, say(f, "1 allow"))
	ok(t, f.Sync(t.Context())) // what there is of a line is the line
	if r := <-done; r.err != nil || r.Verb != "allow" || !r.BodyRead {
		t.Errorf("answer %+v", r)
	}
}

func TestAWrongAnswerIsRefusedAndLeavesTheQuestionOpen(t *testing.T) {
	d := newDesk(t)
	f, g := d.open(), d.open()
	defer f.Close()
	defer g.Close()
	done := d.ask(t.Context(), line(`{}`))
	next(t, f)
	for _, wrong := range []string{
		"allow", "x allow", "-1 allow", "1", "1 maybe", "2 allow", "1 allow it",
		"1 replace", "1 replace {", "1 replace {} {}", "1 replace {\"a\":tru}", strings.Repeat("\xff", 100),
	} {
		want(t, say(f, "%s\n", wrong), fs.Invalid)
	}
	want(t, say(g, "1 allow\n"), fs.Invalid) // it is not g's
	ok(t, say(f, "\n1 replace {\"a\":1}\n\n"))
	want(t, say(f, "1 allow\n"), fs.Invalid) // a second answer
	if r := <-done; r.err != nil || string(r.Content()) != `{"a":1}` {
		t.Errorf("answer %+v", r)
	}
}

func TestAnOverLongAnswerIsRefusedWithItsTail(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	done := d.ask(t.Context(), line(`{}`))
	next(t, f)
	long := bytes.Repeat([]byte("1 deny "), fs.MaxAnswerLine/7+1)
	_, err := f.Write(long)
	want(t, err, fs.TooBig)
	want(t, say(f, "1 allow\n"), fs.TooBig)
	ok(t, say(f, "1 deny %s\n", strings.Repeat("x", fs.MaxAnswerLine-7)))
	if r := <-done; r.err != nil || len(r.Text) != fs.MaxAnswerLine-7 {
		t.Errorf("%d bytes, %v", len(r.Text), r.err)
	}
}

func TestAnExclusiveServiceHasOneListener(t *testing.T) {
	out := &fs.Service{Exclusive: true}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"out": out}}), owner)
	info, err := c.Stat(t.Context(), "out")
	ok(t, err)
	if info.Mode&fs.ModeExclusive == 0 || info.Mode.Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode)
	}
	f, err := c.Open(t.Context(), "out", fs.Read|fs.Write)
	ok(t, err)
	_, err = c.Open(t.Context(), "out", fs.Read|fs.Write)
	want(t, err, fs.Busy)
	ok(t, f.Close())
	f, err = c.Open(t.Context(), "out", fs.Read|fs.Write)
	ok(t, err)
	ok(t, f.Close())
}

func TestWhoseRightsHaveExpiredMakesRoomForTheNextListener(t *testing.T) {
	out := &fs.Service{Exclusive: true}
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"out": out}})
	guest := &fs.Identity{UID: owner.UID, Until: time.Now().Add(50 * time.Millisecond)}
	f, err := client(t, tree, guest).Open(t.Context(), "out", fs.Read|fs.Write)
	ok(t, err)
	defer f.Close()
	first := out.Listeners()[0]
	asked := make(chan error, 1)
	go func() {
		_, err := first.Ask(t.Context(), line(`{}`))
		asked <- err
	}()
	<-time.After(time.Until(guest.Until))
	g, err := client(t, tree, owner).Open(t.Context(), "out", fs.Read|fs.Write)
	ok(t, err)
	defer g.Close()
	if err := <-asked; !errors.Is(err, fs.ErrGone) {
		t.Errorf("what the first was asked: %v", err)
	}
	if list := out.Listeners(); len(list) != 1 || list[0] == first {
		t.Errorf("listeners %v", list)
	}
}
