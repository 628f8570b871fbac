package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mikan/fs"
	"mikan/wire"
)

func TestPrompt_is_answered_and_recorded(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	if got := answer(t, s, "$ echo one; echo two >&2\n$ exit 3"); !strings.Contains(got, "one\ntwo") || !strings.Contains(got, "code 3") {
		t.Fatalf("answer %q", got)
	}
	again, err := s.Reply(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	first, _ := read(t, again)
	if !strings.Contains(first, "one\ntwo") {
		t.Fatalf("the reply after the run is %q", first)
	}
	buf := make([]byte, 4096)
	n, err := c.ReadLog(ctx(t), buf, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"ts":"1","user":"local:ann","userName":"ann"`) || !strings.Contains(lines[1], `"ts":"1","user":"bot"`) {
		t.Fatalf("log\n%s", buf[:n])
	}
	copied, err := os.ReadFile(c.Log)
	if err != nil || !strings.HasPrefix(string(buf[:n]), string(copied)) || len(copied) == 0 {
		t.Fatalf("the agent's copy of the log is %q, %v", copied, err)
	}
	usage, err := s.Usage(ctx(t))
	if err != nil || !strings.Contains(string(usage), "calls 3\n") || !strings.Contains(string(usage), "model demo/echo input ") {
		t.Fatalf("usage %s, %v", usage, err)
	}
	if st := status(t, s); !strings.Contains(st, "state idle\nqueued 0\nsession main\nmodel demo/echo\nthinking off\nlast ok\n") {
		t.Fatalf("status\n%s", st)
	}
}

func TestSettings_hand_edit_counts_from_the_next_prompt(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	answer(t, s, "$ true")
	if err := os.WriteFile(c.Settings, []byte("{\n\"llm\": {\"thinkingLevel\": \"hihg\"}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := read(t, prompt(t, s, "$ true").Answer)
	if err == nil || !strings.Contains(err.Error(), c.Settings+":2: llm.thinkingLevel") {
		t.Fatalf("a malformed file: %v", err)
	}
	if err := os.WriteFile(c.Settings, []byte(`{"llm":{"thinkingLevel":"high"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	answer(t, s, "$ true")
	if st := status(t, s); !strings.Contains(st, "thinking high\n") {
		t.Fatalf("status\n%s", st)
	}
}

func TestSystemPrompt_stays_and_changes_come_with_the_turn(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	answer(t, s, "$ true")
	if err := os.WriteFile(c.Memory, []byte("the cat is called Mikan"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer(t, s, "one")
	answer(t, s, "two")
	if n := strings.Count(transcriptOf(t, s), "the cat is called Mikan"); n != 1 {
		t.Fatalf("the change was told %d times, want once", n)
	}
}

// What an agent puts in the place of a file that the host opens there is never
// followed and never waited for.
func TestFault_S2_log_copy_and_memory_never_follow_out(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, put := range map[string]func(path string) error{
		"link":      func(p string) error { return os.Symlink(secret, p) },
		"fifo":      func(p string) error { return mkfifo(p) },
		"directory": func(p string) error { return os.Mkdir(p, 0o700) },
		"dangling":  func(p string) error { return os.Symlink(secret+".not", p) },
	} {
		c := l.office(rt, name)
		for _, p := range []string{c.Log, c.Memory, c.Skills} {
			if err := put(p); err != nil {
				t.Fatal(err)
			}
		}
		s := session(t, c, "main")
		if got := answer(t, s, "hello"); !strings.HasPrefix(got, "demo: hello\n") {
			t.Errorf("%s: answer %q", name, got)
		}
		if strings.Contains(transcriptOf(t, s), "canary") {
			t.Errorf("%s: the link was followed", name)
		}
	}
	if got, _ := os.ReadFile(secret); string(got) != "canary" {
		t.Errorf("the host wrote through a link: %q", got)
	}
	if exists(secret + ".not")() {
		t.Error("the host made a file through a link")
	}
}

// However many read an answer, and whenever they come, each gets all of it.
func TestReply_is_whole_for_everyone(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	for i := range 30 {
		want := fmt.Sprintf("demo: %d\n", i)
		a := prompt(t, s, fmt.Sprint(i))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, err := s.Reply(ctx(t))
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := read(t, r); err != nil || !strings.HasPrefix(got, want) || !strings.HasSuffix(got, ")\n") {
					t.Errorf("%q, %v", got, err)
				}
			})
		}
		if got, err := read(t, a.Answer); err != nil || !strings.HasSuffix(got, ")\n") {
			t.Errorf("ask: %q, %v", got, err)
		}
		wg.Wait()
	}
}

func TestSettings_changes_at_once_lose_none(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	for range 10 {
		if err := os.RemoveAll(c.Settings); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, line := range []string{"model demo/echo", "thinking high"} {
			wg.Go(func() {
				if err := c.Command(ctx(t), ann, line); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		text, _, err := c.SettingsText()
		if err != nil || !strings.Contains(string(text), `"echo"`) || !strings.Contains(string(text), `"high"`) {
			t.Fatalf("settings %s, %v", text, err)
		}
	}
}

func TestFeed_tells_in_order(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	h, err := s.Feed().Open(ctx(t), &fs.Identity{}, fs.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for i := range 10 {
		answer(t, s, fmt.Sprintf("$ echo %d", i))
	}
	var types []string
	var last uint64
	buf := make([]byte, 64<<10)
	for settled := 0; settled < 10; {
		n, err := h.(fs.Reader).Read(ctx(t), buf, 0)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(buf[:n])) {
			var e wire.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if e.Seq <= last {
				t.Errorf("seq %d after %d", e.Seq, last)
			}
			last = e.Seq
			if e.Type == wire.Settled {
				settled++
			}
			types = append(types, string(e.Type))
		}
	}
	story := strings.Join(types, " ")
	if !strings.HasPrefix(story, "accepted message status message_end turn_start message_end tool_call tool_result message_end turn_end turn_start delta turn_end message_end settled message status accepted") {
		t.Errorf("the feed tells %s", story)
	}
}
