package runtime_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

// gated prompts the session with a command that goes on when its office's gate is
// opened.
func gated(t testing.TB, c *runtime.Conversation, s *runtime.Session) (a runtime.Accepted, open func()) {
	t.Helper()
	a = prompt(t, s, "$ mkfifo gate; touch ready; cat gate; echo first")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	return a, func() {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.Dir, "gate"), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func (l *lab) mode(mode string) {
	l.write("settings.json", `{"llm":{"provider":"demo","model":"echo"},"queue":{"mode":"`+mode+`"}}`)
}

func TestQueue_mode_refuse_is_an_error_and_nothing_else(t *testing.T) {
	l := newLab(t)
	l.mode("refuse")
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running, open := gated(t, c, s)
	size, _, _ := c.LogSize(ctx(t))
	_, err := s.Prompt(ctx(t), ann, store.KindPrompt, "$ echo second")
	if !errors.Is(err, fs.Busy) || !strings.Contains(err.Error(), "queue.mode is refuse") {
		t.Fatalf("err %v", err)
	}
	if now, _, _ := c.LogSize(ctx(t)); now != size {
		t.Error("what was refused is in the log")
	}
	if _, err := s.Prompt(ctx(t), ann, store.KindFollowup, "$ echo third"); err != nil {
		t.Errorf("a followup says itself when: %v", err)
	}
	other, err := c.CreateSession(ctx(t), "other")
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, other, "$ echo elsewhere"); got != "elsewhere\n" {
		t.Errorf("another session: %q", got)
	}
	open()
	if got, err := read(t, running.Answer); err != nil || got != "first\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	for range 20 { // an answer has ended: the next prompt is taken at once
		answer(t, s, "$ true")
	}
}

func TestQueue_mode_steer_goes_into_the_run_of_the_same_actor_or_for_the_owner(t *testing.T) {
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		who    string
		steers bool
	}{{"local:ann", true}, {"local:" + u.Username, true}, {"local:bob", false}} {
		for kind, mode := range map[store.Kind]string{store.KindPrompt: "steer", store.KindSteer: "queue"} {
			t.Run(c.who+" by "+string(kind), func(t *testing.T) {
				l := newLab(t)
				l.mode(mode)
				rt := l.start()
				o := l.office(rt, "demo")
				s := session(t, o, "main")
				running, open := gated(t, o, s)
				next, err := s.Prompt(ctx(t), runtime.Actor{ID: c.who, Name: "x"}, kind, "$ echo second")
				if err != nil {
					t.Fatal(err)
				}
				open()
				first, err := read(t, running.Answer)
				if err != nil || strings.Contains(first, "second") != c.steers {
					t.Errorf("the run's answer %q, %v", first, err)
				}
				second, err := read(t, next.Answer)
				if err != nil || c.steers && second != first || !strings.Contains(second, "second\n") {
					t.Errorf("the other's answer %q, %v", second, err)
				}
			})
		}
	}
}

// A message that is not taken stands in the log, is not run, and its writer is
// told so, in the place where he wrote it.
func TestQueue_mode_refuse_answers_on_the_platform(t *testing.T) {
	l := newLab(t)
	l.mode("refuse")
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "$ mkfifo gate; touch ready; cat gate; echo first")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	m := wire.InMessage{ID: "d2", TS: "2222", Conversation: "C1", Session: "C1", User: "U2", UserName: "bob", Reply: "thread", Text: "second"}
	for range 2 { // the second time it is known
		if err := c.deliver(m); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "Already at work on an earlier message, so this one is not taken. Please send it again when that one is answered."
	eventually(t, "the refusal", func() bool { return c.status("pending") == "0" && len(c.bus.Answers("C1")) == 1 })
	same(t, "while it works", c.bus.Answers("C1"), []string{refused})
	if all := c.bus.Transcript("C1"); all[len(all)-1].Thread != "thread" {
		t.Errorf("it stands in %q", all[len(all)-1].Thread)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "gate"), nil, 0); err != nil {
		t.Fatal(err)
	}
	same(t, "answers", c.answers("C1", 2), []string{refused, "first"})
	if log := texts(c.records("C1")); !slices.Contains(log, "U2: second") || !slices.Contains(log, "bot: "+refused) {
		t.Errorf("log %q", log)
	}
	if text := c.read("offices/bus/C1/sessions/main/transcript"); strings.Contains(text, "second") || strings.Contains(text, "Already") {
		t.Errorf("the session has heard of it:\n%s", text)
	}
	m.ID, m.TS, m.Text = "d3", "3333", "third"
	if err := c.deliver(m); err != nil {
		t.Fatal(err)
	}
	same(t, "afterwards", c.answers("C1", 3)[2:], []string{"demo: third"})
}

// A chat user's message steers his own run, and waits behind another's.
func TestQueue_mode_steer_on_the_platform(t *testing.T) {
	l := newLab(t)
	l.mode("steer")
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "$ mkfifo gate; touch ready; cat gate; echo first")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	for i, who := range []string{"U2", "U1"} {
		text := []string{"$ echo other", "$ echo mine"}[i]
		c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1", User: who, Text: text})
	}
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	if err := os.WriteFile(filepath.Join(o.Dir, "gate"), nil, 0); err != nil {
		t.Fatal(err)
	}
	same(t, "answers", c.answers("C1", 2), []string{"mine", "other"})
}
