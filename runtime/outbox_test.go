package runtime_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
	"mikan/wire"
)

func TestFault_D1_an_answer_whose_acknowledgement_is_lost_is_posted_once(t *testing.T) {
	c := newChat(t)
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.DropAck})
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	if list := c.records("C1"); list[1].TS != c.bus.Transcript("C1")[1].TS {
		t.Errorf("the record is %+v", list[1])
	}
	c.say("C1", "again")
	same(t, "answers", c.answers("C1", 2), []string{"demo: hello", "demo: again"})
}

func TestFault_D1_an_answer_that_was_not_posted_is_posted_after_reading_back(t *testing.T) {
	c := newChat(t)
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Die})
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	if !slices.ContainsFunc(c.bus.Operations(), func(r wire.OpRequest) bool { return r.Op == "history" }) {
		t.Error("it was sent again without a look")
	}
}

func TestFault_D1_an_answer_that_an_adapter_keeps_silent_about_is_posted_once(t *testing.T) {
	l := newLab(t)
	l.outbox.Answer = 200 * time.Millisecond
	c := l.join(l.start(), "bus", fake.NewBus())
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Silence})
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	if !slices.ContainsFunc(c.bus.Operations(), func(r wire.OpRequest) bool { return r.Op == "history" }) {
		t.Error("it was sent again without a look")
	}
}

// Without keys nobody can tell, and nobody guesses.
func TestFault_D1_an_unknown_outcome_stays_so_where_nothing_can_be_read_back(t *testing.T) {
	l := newLab(t)
	c := l.chat(l.start(), "bus", fake.NewBus())
	c.adapter.Caps = wire.Caps{Ops: []string{"post", "history"}}
	c.connect()
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.DropAck})
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	if n := c.status("unknown"); n != "1" {
		t.Errorf("unknown %s", n)
	}
	if r := c.records("C1")[1]; !strings.Contains(r.Error, "not known whether") {
		t.Errorf("record %+v", r)
	}
}

func TestFault_D3_a_limit_is_waited_for_and_the_order_kept(t *testing.T) {
	c := newChat(t)
	for range 30 { // more than failures would be forgiven
		c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Limit, After: time.Millisecond})
	}
	var want []string
	for i := range 5 {
		c.say("C1", fmt.Sprint(i))
		want = append(want, fmt.Sprintf("demo: %d", i))
	}
	same(t, "answers", c.answers("C1", 5), want)
}

func TestFault_D4_an_answer_that_cannot_be_posted_is_told_to_everyone(t *testing.T) {
	c := newChat(t)
	feed, err := c.tree.Open(ctx(t), "feed", fs.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Final, Text: "channel_is_archived"})
	c.say("C1", "hello")
	eventually(t, "giving up", func() bool { return c.status("failed") == "1" })
	c.answers("C1", 0)
	r := c.records("C1")[1]
	if r.Error != "channel_is_archived" || !strings.HasPrefix(r.Text, "demo: hello") || r.TS != "1" {
		t.Errorf("record %+v", r)
	}
	if !strings.Contains(c.status("error"), "bus/C1: channel_is_archived") {
		t.Errorf("status error %s", c.status("error"))
	}
	var seen strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(seen.String(), `"undelivered"`) {
		n, err := feed.ReadContext(ctx(t), buf)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(buf[:n])
	}
	c.say("C1", "next")
	c.answers("C1", 1)
	c.say("C1", "after that")
	c.answers("C1", 2)
	text := c.read("offices/bus/C1/sessions/main/transcript")
	if n := strings.Count(text, "may not have reached the chat (channel_is_archived)"); n != 1 {
		t.Errorf("the model is told %d times:\n%s", n, text)
	}
}

func TestFault_D4_an_error_that_stays_is_given_up_at_last(t *testing.T) {
	c := newChat(t)
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Refuse, Text: "internal error", Times: 12})
	c.say("C1", "hello")
	c.say("C1", "next")
	same(t, "answers", c.answers("C1", 1), []string{"demo: next"})
	if r := c.records("C1")[2]; r.Error != "internal error" {
		t.Errorf("records %+v", c.records("C1"))
	}
}

func TestFault_D4_an_error_that_passes_is_got_over(t *testing.T) {
	c := newChat(t)
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Refuse, Text: "internal error", Times: 11})
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
}

func TestFault_D5_a_crash_between_answer_and_post_loses_and_doubles_nothing(t *testing.T) {
	c := newChat(t)
	c.stop() // nobody is there to post it
	if err := c.deliver(wire.InMessage{ID: "1", Conversation: "C1", Session: "C1", TS: "1", User: "U1", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the answer", func() bool { return c.status("pending") == "1" })
	c = c.restart()
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	c = c.restart()
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
}

// The daemon dies when the adapter has posted the answer and not said so.
func TestFault_D5_a_crash_between_post_and_acknowledgement_doubles_nothing(t *testing.T) {
	c := newChat(t)
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.Silence})
	c.say("C1", "hello")
	eventually(t, "the post", func() bool { return c.bus.Troubles() == 0 })
	// What the silent adapter has done after all:
	key := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"}).Key
	if _, err := c.bus.Do(wire.OpRequest{Op: "post", Conversation: "C1", Text: "demo: hello", Key: string(key) + "/1"}); err != nil {
		t.Fatal(err)
	}
	if err := c.rt.Close(); err != nil {
		t.Fatal(err)
	}
	c.stop()
	c = c.l.join(c.l.start(), "bus", c.bus)
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	same(t, "log", texts(c.records("C1")), []string{"U1: hello", "bot: demo: hello"})
}

func TestFault_D6_each_mention_is_answered_in_its_own_thread(t *testing.T) {
	c := newChat(t)
	want := map[string]string{}
	for i := range 5 {
		text := fmt.Sprintf("mention %d", i)
		ts := c.bus.Say(wire.InMessage{Conversation: "C1", User: "U1", Text: text})
		want["demo: "+text] = ts
	}
	c.answers("C1", 5)
	for _, m := range c.bus.Transcript("C1") {
		if first, _, _ := strings.Cut(m.Text, "\n"); m.User == "bot" && m.Thread != want[first] {
			t.Errorf("%q stands in %s, want %s", first, m.Thread, want[first])
		}
	}
}

func TestFault_Q1_what_waits_behind_a_failed_run_is_run(t *testing.T) {
	l := newLab(t)
	release := make(chan struct{})
	var first sync.Once
	l.computer = func(cx context.Context, o *runtime.Office) (harness.Computer, string, error) {
		fail := false
		first.Do(func() { fail = true })
		if fail {
			<-release
			return nil, "", fmt.Errorf("the computer is on fire")
		}
		return computer(cx, o)
	}
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "A")
	c.say("C1", "B")
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	close(release)
	same(t, "answers", c.answers("C1", 2), []string{"failed: the computer is on fire", "demo: B"})
}

func TestFault_Q1_an_interrupted_run_is_told_and_what_waits_is_run(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ touch ready; sleep 60")
	c.say("C1", "B")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	eventually(t, "both", func() bool { return c.bus.Undelivered() == 0 })
	c = c.restart()
	same(t, "answers", c.answers("C1", 2), []string{"interrupted: the daemon ended while it ran", "demo: B"})
}

func TestContract_run_output_is_what_the_model_wrote(t *testing.T) {
	c := newChat(t)
	long := strings.Repeat("x", 5000) // more than a request line holds
	c.say("C1", "$ echo '**bold** <@ann> `code` "+long+"'")
	c.answers("C1", 1)
	if got, want := c.bus.Answers("C1")[0], "**bold** <@ann> `code` "+long; got != want {
		t.Errorf("posted %.80q… (%d bytes), want %d bytes", got, len(got), len(want))
	}
}

func TestContract_run_output_reaches_a_thread_of_any_name(t *testing.T) {
	c := newChat(t)
	thread := strings.Repeat("t", 1000)
	c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1", Reply: thread, User: "U1", Text: "hello"})
	c.answers("C1", 1)
	if m := c.bus.Transcript("C1")[1]; m.Thread != thread {
		t.Errorf("it stands in %.40q", m.Thread)
	}
}

func TestContract_run_output_silent_is_not_posted(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ echo '[SILENT] nothing to add'")
	c.quiet()
	c.say("C1", "hello")
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	same(t, "log", texts(c.records("C1")), []string{"U1: $ echo '[SILENT] nothing to add'", "U1: hello", "bot: demo: hello"})
}

func TestContract_run_output_stop_is_told(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ touch ready; sleep 60")
	o := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"})
	eventually(t, "the command", exists(filepath.Join(o.Dir, "ready")))
	if err := c.tree.WriteFile(ctx(t), "offices/bus/C1/ctl", []byte("stop\n")); err != nil {
		t.Fatal(err)
	}
	same(t, "answers", c.answers("C1", 1), []string{"stopped"})
}

func TestContract_run_output_of_a_prompt_by_file_stays_in_the_files(t *testing.T) {
	c := newChat(t)
	c.say("C1", "hello")
	c.answers("C1", 1)
	if err := c.tree.WriteFile(ctx(t), "offices/bus/C1/ctl", []byte("prompt by file\n")); err != nil {
		t.Fatal(err)
	}
	if got := c.read("offices/bus/C1/sessions/main/reply"); !strings.HasPrefix(got, "demo: by file") {
		t.Errorf("reply %q", got)
	}
	c.answers("C1", 1)
	list := texts(c.records("C1"))
	same(t, "log", list[3:], []string{"bot: demo: by file"})
}

// An office with something to post is looked at again after a restart, however
// quiet it has been.
func TestOutbox_keeps_the_office_pending(t *testing.T) {
	c := newChat(t)
	c.stop()
	for i := range 3 {
		m := wire.InMessage{ID: fmt.Sprint(i), Conversation: "C1", Session: "C1", TS: fmt.Sprint(i), User: "U1", Text: fmt.Sprint(i)}
		if err := c.deliver(m); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the answers", func() bool { return c.status("pending") == "3" })
	for range 2 { // a start without the adapter
		if err := c.rt.Close(); err != nil {
			t.Fatal(err)
		}
		c = c.l.chat(c.l.start(), "bus", c.bus)
		if n := c.status("pending"); n != "3" {
			t.Fatalf("pending %s", n)
		}
	}
	c.connect()
	same(t, "answers", c.answers("C1", 3), []string{"demo: 0", "demo: 1", "demo: 2"})
}
