package runtime_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/tree"
	"mikan/wire"
)

// An office whose history is damaged says so in its status, takes no prompt and
// gets no empty history, and the others work, until its database is back.
func TestFault_21_19_a_damaged_history_is_never_replaced_silently(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, session(t, c, "main"), "remember")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(c.Sessions)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	copy(bad[100:], bytes.Repeat([]byte{0xa5}, 4000))
	if err := os.WriteFile(c.Sessions, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // also after a restart
		rt = l.start()
		c, err = rt.Conversation(c.Address)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Session(ctx(t), "main")
		aside, _ := filepath.Glob(c.Sessions + ".damaged-*Z")
		if len(aside) != 1 || err == nil || !strings.Contains(err.Error(), aside[0]) {
			t.Fatalf("the session: %v; set aside: %q", err, aside)
		}
		if got, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(got, bad) {
			t.Fatalf("what was set aside has changed: %v", err)
		}
		text, _, err := c.Status(ctx(t))
		if err != nil || !strings.HasPrefix(string(text), "state unusable\nerror the history was damaged") || !strings.Contains(string(text), aside[0]) {
			t.Fatalf("status %q, %v", text, err)
		}
		if err := c.Command(ctx(t), ann, "prompt hello"); err == nil || !strings.Contains(err.Error(), aside[0]) {
			t.Errorf("a prompt: %v", err)
		}
		files, err := tree.New(rt, tree.Daemon{}).Client(ctx(t), &fs.Identity{Name: "ann", UID: uint32(os.Getuid())})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := files.ReadFile(ctx(t), "offices/local/demo/status"); err != nil || !bytes.Equal(got, text) {
			t.Errorf("the file status: %q, %v", got, err)
		}
		if err := files.WriteFile(ctx(t), "offices/local/demo/ctl", []byte("prompt hello")); err == nil || !strings.Contains(err.Error(), aside[0]) {
			t.Errorf("a prompt by file: %v", err)
		}
		if list, err := files.ReadDir(ctx(t), "offices/local/demo"); err != nil || len(list) == 0 {
			t.Errorf("the office cannot be listed: %v", err)
		}
		files.Close()
		if _, err := rt.Create(ctx(t), c.Address); err == nil || !strings.Contains(err.Error(), aside[0]) {
			t.Errorf("making it again: %v", err)
		}
		if got := answer(t, session(t, l.office(rt, "other"), "main"), "$ echo fine"); got != "fine\n" {
			t.Errorf("another office: %q", got)
		}
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(c.Sessions, good, 0o600); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c = l.office(rt, "demo")
	if text := transcriptOf(t, session(t, c, "main")); !strings.Contains(text, "remember") {
		t.Error("the good copy is not read")
	}
	answer(t, session(t, c, "main"), "go on")
}

// To begin with an empty history takes a deed.
func TestDamage_gives_way_when_it_is_moved_off(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(c.Sessions, 0); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c, err := rt.Conversation(c.Address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Session(ctx(t), "main"); err == nil {
		t.Fatal("an empty file is a history")
	}
	aside, _ := filepath.Glob(c.Sessions + ".damaged-*Z")
	for _, path := range aside {
		if err := os.Rename(path, filepath.Join(t.TempDir(), filepath.Base(path))); err != nil {
			t.Fatal(err)
		}
	}
	files := client(t, rt)
	defer files.Close()
	if err := files.Mkdir(ctx(t), "offices/local/demo", 0o750); err != nil {
		t.Fatal(err)
	}
	answer(t, session(t, c, "main"), "afresh")
}

// While a session starts afresh nothing of what ran before gets behind the new
// beginning, and nobody else writes to it.
func TestFault_21_16_a_reset_while_running_ends_the_run_first(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	var last runtime.Accepted
	for range 5 {
		prompt(t, s, "$ echo begun; sleep 60")
		if err := c.Command(ctx(t), ann, "new"); err != nil {
			t.Fatal(err)
		}
		last = prompt(t, s, "$ echo after")
		if got, err := read(t, last.Answer); err != nil || got != "after\n" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	open, parent := map[string]bool{}, ""
	for line := range strings.Lines(transcriptOf(t, s)) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		switch {
		case e.Type == "session":
			continue
		case e.CustomType == wire.CustomReset:
			if len(open) > 0 || e.ParentID != nil {
				t.Fatalf("a new branch begins with open calls %v", open)
			}
		case e.ParentID != nil && *e.ParentID != parent:
			t.Fatalf("entry %s hangs under %s, want %s", e.ID, *e.ParentID, parent)
		}
		if parent = e.ID; e.Message == nil {
			continue
		}
		for _, call := range e.Message.Calls() {
			open[call.ID] = true
		}
		if e.Message.Role == wire.ToolResult {
			if !open[e.Message.ToolCallID] {
				t.Fatalf("a result without its call: %s", line)
			}
			delete(open, e.Message.ToolCallID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without a result: %v", open)
	}
}
