package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
)

func TestArchive_hides_and_create_brings_back(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, session(t, c, "main"), "remember")
	if err := c.Archive(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Conversation(c.Address); !errors.Is(err, fs.NotExist) {
		t.Fatalf("an archived office: %v", err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(l.ws.StateDir, "index.db")); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	if list, err := rt.Addresses(); err != nil || len(list) != 0 {
		t.Fatalf("after a start with a new index: %v, %v", list, err)
	}
	c = l.office(rt, "demo")
	if text := transcriptOf(t, session(t, c, "main")); !strings.Contains(text, "remember") {
		t.Fatalf("brought back without its history:\n%s", text)
	}
}

func TestArchived_takes_no_prompt(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	main := session(t, c, "main")
	side, err := c.CreateSession(ctx(t), "side")
	if err != nil {
		t.Fatal(err)
	}
	if err := side.Command(ctx(t), ann, "archive"); err != nil {
		t.Fatal(err)
	}
	if _, err := side.Prompt(ctx(t), ann, store.KindPrompt, "x"); !errors.Is(err, fs.NotExist) {
		t.Errorf("an archived session: %v", err)
	}
	if err := c.Archive(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := main.Prompt(ctx(t), ann, store.KindPrompt, "x"); !errors.Is(err, fs.NotExist) {
		t.Errorf("an archived office: %v", err)
	}
	l.office(rt, "demo")
	if got := answer(t, main, "$ echo back"); got != "back\n" {
		t.Errorf("brought back: %q", got)
	}
}

func TestCreate_makes_an_office_once_and_completes_a_half_made_one(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	a := runtime.Address{Platform: "local", ConversationID: "demo"}
	made := make(chan error, 8)
	for range cap(made) {
		go func() { _, err := rt.Create(ctx(t), a); made <- err }()
	}
	ok := 0
	for range cap(made) {
		switch err := <-made; {
		case err == nil:
			ok++
		case !errors.Is(err, fs.Exist):
			t.Error(err)
		}
	}
	if ok != 1 {
		t.Errorf("%d of them made it, want 1", ok)
	}
	// A crash after the record and before the store.
	half := runtime.Address{Platform: "local", ConversationID: "half"}
	if err := l.ws.Ensure(ctx(t), l.ws.Office(half)); err != nil {
		t.Fatal(err)
	}
	if c, err := rt.Conversation(half); err != nil {
		t.Fatal(err)
	} else if _, _, err := c.Status(ctx(t)); err == nil {
		t.Error("it has a status")
	} else if exists(c.Sessions)() {
		t.Error("reading made a store")
	}
	if _, err := rt.Create(ctx(t), half); err != nil {
		t.Error(err)
	}
}
