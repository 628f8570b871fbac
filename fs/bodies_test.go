package fs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
)

func TestALargeRequestHasItsBodyInAFile(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	body := bytes.Repeat([]byte("x"), 4<<20)
	done := d.ask(t.Context(), fs.Question{Line: json.RawMessage(`{"tool":"bash"}`), Body: body})
	if got := next(t, f); got != `1 {"tool":"bash","body":".body/1"}`+"\n" {
		t.Errorf("request %q", got)
	}
	info, err := d.Stat(t.Context(), ".body/1")
	ok(t, err)
	if info.Size != int64(len(body)) || info.Mode != 0o600 {
		t.Errorf("info %+v", info)
	}
	if got := read(t, d.Client, ".body/1"); got != string(body) {
		t.Errorf("%d bytes", len(got))
	}
	ok(t, say(f, "1 allow\n"))
	if r := <-done; r.err != nil || !r.BodyRead || r.Body != nil {
		t.Errorf("answer %+v", r)
	}
	_, err = d.Stat(t.Context(), ".body/1")
	want(t, err, fs.NotExist)
}

// A body may be a file, of which no more is in memory than is asked for. It is
// closed however the question ends.
func TestABodyMayBeAFile(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	file := func(size int64) fs.Question {
		g, err := os.Create(filepath.Join(t.TempDir(), "body"))
		ok(t, err)
		_, err = g.WriteString("begin")
		ok(t, errors.Join(err, g.Truncate(size)))
		return fs.Question{Line: json.RawMessage(`{}`), File: g}
	}
	closed := func(q fs.Question) {
		t.Helper()
		if err := q.File.Close(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("close: %v", err)
		}
	}
	q := file(4 << 20)
	done := d.ask(t.Context(), q)
	if got := next(t, f); got != `1 {"body":".body/1"}`+"\n" {
		t.Errorf("request %q", got)
	}
	info, err := d.Stat(t.Context(), ".body/1")
	ok(t, err)
	if got := read(t, d.Client, ".body/1"); int64(len(got)) != info.Size || info.Size != 4<<20 || !strings.HasPrefix(got, "begin\x00") {
		t.Errorf("%d bytes of %d: %.8q", len(got), info.Size, got)
	}
	late, err := d.Client.Open(t.Context(), ".body/1", fs.Read)
	ok(t, err)
	defer late.Close()
	writer, err := d.Client.Open(t.Context(), ".body/1", fs.Write)
	ok(t, err)
	defer writer.Close()
	w, err := d.Client.Open(t.Context(), ".body/1", fs.Write)
	ok(t, err)
	_, err = w.Write([]byte("BEGIN")) // it starts from what the file has
	ok(t, errors.Join(err, w.Close()))
	ok(t, say(f, "1 replace\n"))
	if r := <-done; r.err != nil || !r.BodyRead || len(r.Body) != 4<<20 || !bytes.HasPrefix(r.Body, []byte("BEGIN\x00")) {
		t.Errorf("answer %v of %d bytes", r.err, len(r.Body))
	}
	closed(q)
	_, err = late.Read(make([]byte, 8))
	want(t, err, fs.NotExist)
	_, err = writer.Write([]byte("late"))
	want(t, err, fs.NotExist)

	q = file(fs.MaxRequestBody + 1)
	_, err = d.hook.Listeners()[0].Ask(t.Context(), q)
	want(t, err, fs.TooBig)
	closed(q)
	q = file(1)
	done = d.ask(t.Context(), q)
	next(t, f)
	ok(t, f.Close())
	if r := <-done; !errors.Is(r.err, fs.ErrGone) {
		t.Errorf("answer %+v", r)
	}
	closed(q)
}

func TestAllowWithoutReadingTheBodyCountsAsNoAnswer(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	q := fs.Question{Line: json.RawMessage(`{}`), Body: []byte("much more")}
	done := d.ask(t.Context(), q)
	next(t, f)
	_, err := d.Stat(t.Context(), ".body/1") // to look at it is not to read it
	ok(t, err)
	want(t, say(f, "1 allow\n"), fs.Invalid)
	if r := <-done; !errors.Is(r.err, fs.ErrUnread) || r.Verb != "allow" || r.BodyRead {
		t.Errorf("answer %+v", r)
	}
	done = d.ask(t.Context(), q)
	next(t, f)
	ok(t, say(f, "2 deny unseen\n"))
	if r := <-done; r.err != nil || r.Verb != "deny" || r.BodyRead {
		t.Errorf("answer %+v", r)
	}
}

func TestABodyIsReplacedWhole(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	q := fs.Question{Line: json.RawMessage(`{}`), Body: []byte(`{"content":"AKIA"}`)}
	done := d.ask(t.Context(), q)
	next(t, f)
	w, err := d.Client.Open(t.Context(), ".body/1", fs.Write|fs.Truncate)
	ok(t, err)
	ok(t, say(w, `{"content":`))
	if got := read(t, d.Client, ".body/1"); got != string(q.Body) {
		t.Errorf("before the commit: %q", got)
	}
	want(t, say(f, "1 replace\n"), fs.Invalid) // by what?
	ok(t, say(w, `"x"}`))
	ok(t, w.Close())
	if got := read(t, d.Client, ".body/1"); got != `{"content":"x"}` {
		t.Errorf("after it: %q", got)
	}
	ok(t, say(f, "1 replace\n"))
	r := <-done
	if r.err != nil || string(r.Content()) != `{"content":"x"}` || string(q.Body) != `{"content":"AKIA"}` {
		t.Errorf("answer %+v", r)
	}
}

func TestABodyIsBoundedAndGoneWithTheAnswer(t *testing.T) {
	d := newDesk(t)
	f := d.open()
	defer f.Close()
	_, err := d.hook.Listeners()[0].Ask(t.Context(), fs.Question{Line: json.RawMessage(`{}`), Body: make([]byte, fs.MaxRequestBody+1)})
	want(t, err, fs.TooBig)
	done := d.ask(t.Context(), fs.Question{Line: json.RawMessage(`{}`), Body: make([]byte, fs.MaxAnswerBody+1)})
	name := fs.BodyPath(1)
	next(t, f)
	w, err := d.Client.Open(t.Context(), name, fs.Read|fs.Write)
	ok(t, err)
	_, err = w.Write([]byte("into the middle of what is too long"))
	want(t, err, fs.TooBig)
	var drafts []*fs.File
	for range 4 {
		g, err := d.Client.Open(t.Context(), name, fs.Write|fs.Truncate)
		ok(t, err)
		drafts = append(drafts, g)
		ok(t, say(g, "draft"))
	}
	want(t, w.Truncate(t.Context(), 0), fs.Busy)
	ok(t, drafts[0].Close())
	ok(t, w.Truncate(t.Context(), 0))
	want(t, w.Truncate(t.Context(), fs.MaxAnswerBody+1), fs.TooBig)
	ok(t, say(w, "late"))
	ok(t, say(f, "1 deny\n"))
	if r := <-done; r.err != nil || string(r.Body) != "draft" {
		t.Errorf("answer %v, %q", r.err, r.Body)
	}
	want(t, w.Sync(t.Context()), fs.NotExist)
	want(t, drafts[1].Close(), fs.NotExist)
	ok(t, w.Close())
}

func TestOnlyTheHolderSeesABody(t *testing.T) {
	bodies := &fs.Bodies{}
	hook, second := &fs.Service{Mode: 0o666, Bodies: bodies}, &fs.Service{Mode: 0o666, Bodies: bodies}
	tree := newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"hooks": &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"one": hook, "two": second, fs.BodyDir: bodies, "key": text("secret")}},
	}})
	rights, _ := fs.ParseRights("hooks/one rw")
	ext := &fs.Identity{Name: "ext", UID: owner.UID, Rights: rights}
	twin := &fs.Identity{Name: "twin", UID: owner.UID, Rights: rights}

	c := client(t, tree, ext)
	_, err := c.Stat(t.Context(), "hooks/.body")
	want(t, err, fs.NotExist) // it holds nothing
	f, err := c.Open(t.Context(), "hooks/one", fs.Read|fs.Write)
	ok(t, err)
	defer f.Close()
	g, err := client(t, tree, other).Open(t.Context(), "hooks/two", fs.Read|fs.Write)
	ok(t, err)
	defer g.Close()
	q := fs.Question{Line: json.RawMessage(`{}`), Body: []byte("body")}
	for _, s := range []*fs.Service{hook, second} {
		l := s.Listeners()[0]
		go l.Ask(t.Context(), q)
	}
	mine := fmt.Sprintf("hooks/.body/%c", next(t, f)[0])
	theirs := fmt.Sprintf("hooks/.body/%c", next(t, g)[0])

	if got := read(t, c, mine); got != "body" {
		t.Errorf("the holder reads %q", got)
	}
	ok(t, c.WriteFile(t.Context(), mine, []byte("other")))
	for name, who := range map[string]*fs.Identity{
		"a body of another service": ext, "the same rights on another connection": twin,
		"another user": other, "the user himself": owner, "root": {},
	} {
		file := mine
		if who == ext {
			file = theirs
		}
		for _, how := range []fs.Flags{fs.Read, fs.Write, fs.Read | fs.Write} {
			if _, err := client(t, tree, who).Open(t.Context(), file, how); !errors.Is(err, fs.NotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	dir, err := c.Walk(t.Context(), "hooks/.body")
	ok(t, err)
	for _, way := range [][]string{{"..", "key"}, {"..", "two"}, {"..", "..", "hooks", "key"}, {"01"}, {"+1"}, {"."}, {""}, {"../key"}} {
		if _, err := dir.Walk(t.Context(), way...); err == nil {
			t.Errorf("walked to %q", way)
		}
	}
	list, err := dir.ReadDir(t.Context())
	ok(t, err)
	if len(list) != 0 {
		t.Errorf("listed %v", list)
	}
	want(t, dir.Create(t.Context(), "9", 0o600, fs.Write), fs.Permission)
	want(t, c.Rename(t.Context(), mine, "9"), fs.Fixed)
	want(t, c.Rename(t.Context(), "hooks/.body", "key"), fs.Permission)
	want(t, c.Remove(t.Context(), mine), fs.Fixed)
	mode := fs.FileMode(0o666)
	want(t, c.Change(t.Context(), mine, fs.Change{Mode: &mode}), fs.Fixed)
}

func TestBodiesAreNotListed(t *testing.T) {
	d := newDesk(t)
	list, err := d.ReadDir(t.Context(), "")
	ok(t, err)
	if len(list) != 0 {
		t.Errorf("listed %v", list)
	}
	info, err := d.Stat(t.Context(), fs.BodyDir)
	ok(t, err)
	if !info.Mode.IsDir() {
		t.Errorf("info %+v", info)
	}
}
