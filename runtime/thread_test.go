package runtime_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/fs/serve"
	"mikan/runtime"
	"mikan/wire"
)

// reply has ann write in a thread.
func (c *chat) reply(thread, text string) string {
	return c.bus.Say(wire.InMessage{Conversation: "C1", Thread: thread, User: "U1", UserName: "ann", Text: text})
}

// parent is the session that a session's transcript says it comes from.
func (c *chat) parent(session string) string {
	c.t.Helper()
	header, _, _ := strings.Cut(c.read("offices/bus/C1/sessions/"+session+"/transcript"), "\n")
	_, rest, _ := strings.Cut(header, `"parentSession":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func (c *chat) dir() string {
	return c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"}).Dir
}

func TestFault_21_17_a_thread_knows_its_root_and_its_replies_alone(t *testing.T) {
	c := newChat(t)
	c.hear(wire.InMessage{Text: "unrelated"})
	root := c.hear(wire.InMessage{Text: "the root"})
	c.hear(wire.InMessage{Text: "unrelated too"})
	c.hear(wire.InMessage{Text: "a reply", Thread: root})
	c.hear(wire.InMessage{Text: "of another thread", Thread: "17.1"})
	c.say("C1", "at the top")
	c.answers("C1", 1)
	c.reply(root, "what of it?")
	c.answers("C1", 2)
	c.hear(wire.InMessage{Text: "unrelated still"})
	c.hear(wire.InMessage{Text: "another reply", Thread: root})
	c.reply(root, "and now?")
	c.answers("C1", 3)
	in := " [in-thread:" + root + "]: "
	same(t, "told", c.told("C1", root), []string{
		"[bob]: the root", "[bob]: a reply", "[ann]" + in + "what of it?", "[bob]: another reply", "[ann]" + in + "and now?",
	})
	if c.parent(root) != "" {
		t.Error("it says that it comes from another session")
	}
}

func TestContract_session_identity_a_thread_goes_on_from_the_run_it_hangs_under(t *testing.T) {
	c := newChat(t)
	c.hear(wire.InMessage{Text: "overheard"})
	one := c.say("C1", "one")
	c.answers("C1", 1)
	two := c.bus.Transcript("C1")[2].TS // the answer
	c.say("C1", "three")
	c.answers("C1", 2)
	c = c.restart()
	for i, root := range []string{one, two} {
		c.hear(wire.InMessage{Text: "a reply", Thread: root})
		c.reply(root, "and?")
		c.answers("C1", 3+i)
		want := []string{"[bob]: overheard", "[ann]: one", "[bob]: a reply", "[ann] [in-thread:" + root + "]: and?"}
		same(t, "told", c.told("C1", root), want)
		msgs := c.messages("C1", root)
		if len(msgs) != 4 || !strings.HasPrefix(msgs[1].PlainText(), "demo: one") {
			t.Errorf("messages %+v", msgs)
		}
		if c.parent(root) == "" {
			t.Error("it does not say what it comes from")
		}
	}
	c.reply(one, "go on")
	c.answers("C1", 5)
	if got := c.told("C1", one); got[len(got)-1] != "[ann] [in-thread:"+one+"]: go on" || len(got) != 5 {
		t.Errorf("told %q", got)
	}
}

func TestContract_session_identity_answers_in_threads_of_one_session(t *testing.T) {
	c := newChat(t)
	ts := c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1", TS: "5.5", Reply: "5.5", User: "U1", UserName: "ann", Text: "one"})
	c.answers("C1", 1)
	c.reply(ts, "and?")
	c.answers("C1", 2)
	same(t, "told", c.told("C1", ts), []string{"[ann]: one", "[ann] [in-thread:5.5]: and?"})
}

// The thread begins when the run under which it hangs has settled, and knows what
// came of it.
func TestContract_session_identity_a_thread_waits_for_its_running_parent(t *testing.T) {
	c := newChat(t)
	root := c.say("C1", "$ touch ready; until [ -e go ]; do sleep 0.01; done; echo done")
	eventually(t, "the parent", exists(filepath.Join(c.dir(), "ready")))
	c.reply(root, "how far?")
	eventually(t, "the thread", func() bool { return c.awaiting(root) })
	c.say("other", "others go on")
	eventually(t, "the other", func() bool { return len(c.bus.Answers("other")) == 1 })
	if msgs := c.messages("C1", root); len(msgs) != 0 {
		t.Fatalf("it has begun: %+v", msgs)
	}
	if err := os.WriteFile(filepath.Join(c.dir(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.answers("C1", 2)
	msgs := c.messages("C1", root)
	if !slices.ContainsFunc(msgs, func(m wire.Message) bool { return m.Role == wire.Assistant && m.PlainText() == "done" }) || len(msgs) != 6 {
		t.Errorf("messages %+v", msgs)
	}
}

// awaiting reports whether a session is at work on a prompt that has not begun.
func (c *chat) awaiting(session string) bool {
	c.t.Helper()
	if _, err := c.tree.Stat(ctx(c.t), "offices/bus/C1/sessions/"+session); err != nil {
		return false
	}
	return strings.Contains(c.read("offices/bus/C1/sessions/"+session+"/status"), "state running\n")
}

func TestContract_session_identity_a_thread_that_waits_heeds_stop_and_restart(t *testing.T) {
	c := newChat(t)
	root := c.say("C1", "$ touch ready; until [ -e go ]; do sleep 0.01; done; echo done")
	eventually(t, "the parent", exists(filepath.Join(c.dir(), "ready")))
	c.reply(root, "stop me")
	eventually(t, "the thread", func() bool { return c.awaiting(root) })
	if err := c.tree.WriteFile(ctx(t), "offices/bus/C1/sessions/"+root+"/ctl", []byte("stop\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the stop", func() bool { return slices.Contains(c.bus.Answers("C1"), "stopped") })
	c.reply(root, "and now?")
	eventually(t, "the thread", func() bool { return c.awaiting(root) })
	c = c.restart() // the parent is interrupted; the thread still waits in the queue
	c.quiet()
	got := c.told("C1", root)
	if len(got) != 2 || c.parent(root) == "" {
		t.Fatalf("told %q", got)
	}
	same(t, "told", got[1:], []string{"[ann] [in-thread:" + root + "]: and now?"})
}

// Two sessions each of which hangs under a prompt that waits in the other: neither
// waits for ever.
func TestContract_session_identity_threads_never_wait_for_each_other(t *testing.T) {
	l := newLab(t)
	c := l.chat(l.start(), "bus", fake.NewBus())
	c.connect()
	for _, m := range []wire.InMessage{
		{TS: "a", Session: "C1:b"}, {TS: "b", Session: "C1:a"}, {TS: "c", Session: "C1:c"}, {TS: "d", Session: "C1:c"},
	} {
		m.Conversation, m.User, m.Text = "C1", "U1", "in "+m.TS
		c.bus.Say(m)
	}
	c.answers("C1", 4)
}

// A client that holds a question of the parent would wait for itself.
func TestContract_session_identity_who_holds_the_parents_question_cannot_prompt_the_thread(t *testing.T) {
	c := newChat(t)
	c.say("C1", "hello")
	c.answers("C1", 1)
	conversation, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if err != nil {
		t.Fatal(err)
	}
	mine := client(t, c.rt)
	asked, release := make(chan struct{}), make(chan struct{})
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- serve.File(serving, mine, "offices/bus/C1/hooks/"+wire.HookCall, func(context.Context, *serve.Request) serve.Answer {
			close(asked)
			<-release
			return serve.Allow()
		}, serve.Options{})
	}()
	t.Cleanup(func() { stop(); <-served; mine.Close() })
	eventually(t, "the listener", func() bool { return len(conversation.Hooks().Services[wire.HookCall].Listeners()) > 0 })
	root := c.say("C1", "$ echo done")
	<-asked
	c.reply(root, "and?")
	eventually(t, "the thread", func() bool { return c.awaiting(root) })
	prompt := "offices/bus/C1/sessions/" + root + "/prompt"
	if err := mine.WriteFile(ctx(t), prompt, []byte("what I wait for")); fs.KindOf(err) != fs.Busy {
		t.Errorf("it may wait for itself: %v", err)
	}
	if err := c.tree.WriteFile(ctx(t), prompt, []byte("of another client")); err != nil {
		t.Error(err)
	}
	close(release)
	c.answers("C1", 3)
}

// A thread that waits for a prompt which waits too has nothing to wait for at the
// daemon's end: the next start goes on with both.
func TestFault_21_34_a_thread_that_waits_does_not_hold_up_the_end(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ touch ready; until [ -e go ]; do sleep 0.01; done; echo done")
	eventually(t, "the parent", exists(filepath.Join(c.dir(), "ready")))
	root := c.say("C1", "later")
	c.reply(root, "and?")
	eventually(t, "the thread", func() bool { return c.awaiting(root) })
	hurry, cancel := context.WithCancel(leisure)
	t.Cleanup(cancel)
	done := ends(c.rt, hurry, time.Hour)
	eventually(t, "the end", func() bool {
		_, err := c.rt.Create(ctx(t), runtime.Address{Platform: "local", ConversationID: "new"})
		return errors.Is(err, fs.Again)
	})
	if err := os.WriteFile(filepath.Join(c.dir(), "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, done); err != nil {
		t.Fatal(err)
	}
	same(t, "answers", c.bus.Answers("C1"), []string{"done"})
	c = c.restart()
	c.answers("C1", 3)
	if c.parent(root) == "" {
		t.Error("the thread does not go on from its root")
	}
}
