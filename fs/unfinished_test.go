package fs_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"mikan/fs"
)

// desktop has a file of each kind that keeps what is written until it is
// committed, and whose content is a mebibyte.
func desktop(t *testing.T) (*fs.Tree, *fs.Service) {
	whole := bytes.Repeat([]byte("x"), 1<<20)
	bodies := &fs.Bodies{}
	hook := &fs.Service{Mode: 0o666, Bodies: bodies}
	t.Cleanup(hook.Close)
	return newTree(&fs.Dir{Mode: 0o777, Children: map[string]fs.Node{
		"hook": hook, fs.BodyDir: bodies,
		"body": &fs.Body{Mode: 0o666, Commit: func(context.Context, *fs.Identity, []byte) error { return nil }},
		"ask": &fs.Ask{Mode: 0o666, Commit: func(context.Context, *fs.Identity, []byte) (*fs.Stream, uint32, error) {
			return nil, 1, nil
		}},
		"value": &fs.Value{
			Mode: 0o666,
			Get:  func(context.Context, *fs.Identity) ([]byte, time.Time, error) { return whole, time.Time{}, nil },
			Set:  func(context.Context, *fs.Identity, []byte) error { return nil },
		},
	}}), hook
}

// fill opens name again and again, to write a mebibyte and not finish it.
func fill(t *testing.T, c *fs.Client, name string, how fs.Flags) (open []*fs.File, err error) {
	t.Helper()
	for range 200 {
		f, err := c.Open(t.Context(), name, how)
		if err != nil {
			return open, err
		}
		open = append(open, f)
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			return open, err
		}
	}
	return open, nil
}

func TestUnfinishedWritingOfAUserIsBoundedOverAllOpenFiles(t *testing.T) {
	for name, how := range map[string]fs.Flags{"body": fs.Write, "ask": fs.Read | fs.Write, "value": fs.Write} {
		t.Run(name, func(t *testing.T) {
			tree, _ := desktop(t)
			c := client(t, tree, owner)
			open, err := fill(t, c, name, how)
			want(t, err, fs.NoSpace)
			if n := len(open); n < 64 || n > 65 {
				t.Errorf("%d files of a mebibyte were written", n)
			}
			_, err = client(t, tree, &fs.Identity{UID: owner.UID, PID: 77}).Open(t.Context(), "value", fs.Write)
			want(t, err, fs.NoSpace) // another connection of the same user
			ok(t, client(t, tree, other).WriteFile(t.Context(), "value", []byte("another user")))

			for i, f := range open {
				if err := f.Close(); err != nil && i < 64 {
					t.Error(err)
				}
			}
			open, err = fill(t, c, name, how) // all of it is given back
			want(t, err, fs.NoSpace)
			if n := len(open); n < 64 {
				t.Errorf("the second time there was room for %d", n)
			}
			for _, f := range open {
				f.Close()
			}
		})
	}
}

func TestWhatHadNoRoomIsNotCommittedInPart(t *testing.T) {
	tree, _ := desktop(t)
	c := client(t, tree, owner)
	_, err := fill(t, c, "ask", fs.Write)
	want(t, err, fs.NoSpace)
	f, err := c.Open(t.Context(), "body", fs.Write)
	ok(t, err)
	_, err = f.Write([]byte("the first half, "))
	want(t, err, fs.NoSpace)
	want(t, f.Close(), fs.NoSpace)
}

func TestAGuestDoesNotUseUpItsUsersRoom(t *testing.T) {
	tree, _ := desktop(t)
	guest := &fs.Identity{Name: "ext", UID: owner.UID, Rights: fs.Rights{{Path: "", Read: true, Write: true}}}
	_, err := fill(t, client(t, tree, guest), "ask", fs.Write)
	want(t, err, fs.NoSpace)
	f, err := client(t, tree, owner).Open(t.Context(), "body", fs.Write)
	ok(t, err)
	ok(t, say(f, "from the user"))
	ok(t, f.Close())
}

func TestTheDraftOfARequestsBodyCountsAndIsGivenBack(t *testing.T) {
	tree, hook := desktop(t)
	d := &desk{t, hook, client(t, tree, owner)}
	f := d.open()
	defer f.Close()
	d.ask(t.Context(), fs.Question{Line: []byte(`{}`), Body: make([]byte, fs.MaxAnswerBody)})
	next(t, f)
	open, err := fill(t, d.Client, "ask", fs.Write)
	want(t, err, fs.NoSpace)
	w, err := d.Client.Open(t.Context(), fs.BodyPath(1), fs.Read|fs.Write)
	ok(t, err)
	defer w.Close()
	want(t, say(w, "changed"), fs.NoSpace)
	for _, f := range open {
		f.Close()
	}
	for range 6 { // more than there would be room for at once
		ok(t, say(w, "changed"))
		ok(t, w.Sync(t.Context()))
	}
}
