package runtime_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

func TestContract_platform_intake_an_office_appears_with_its_first_message(t *testing.T) {
	c := newChat(t)
	ts := c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1", User: "U1", UserName: "ann", DisplayName: "Ann B.", Text: "hello"})
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
	list := c.records("C1")
	same(t, "log", texts(list), []string{"U1: hello", "bot: demo: hello"})
	if r := list[0]; r.TS != ts || r.UserName != "ann" || r.DisplayName != "Ann B." || r.IsBot || len(r.Attachments) != 0 {
		t.Errorf("record %+v", r)
	}
	if posted := c.bus.Transcript("C1")[1]; list[1].TS != posted.TS || !list[1].IsBot {
		t.Errorf("the answer's record is %+v, the platform's id %s", list[1], posted.TS)
	}
	if text := c.read("offices/bus/C1/sessions/main/transcript"); !strings.Contains(text, "[ann]: hello") {
		t.Errorf("the model is told\n%s", text)
	}
	registry, err := os.ReadFile(c.l.ws.StateDir + "/office-registry.json")
	if err != nil || !strings.Contains(string(registry), `"conversationId": "C1"`) {
		t.Errorf("the registry: %s, %v", registry, err)
	}
}

func TestContract_platform_intake_refuses_what_does_not_belong_together(t *testing.T) {
	c := newChat(t)
	good := wire.InMessage{ID: "1", Conversation: "C1", TS: "1", User: "U1", Text: "hello"}
	for what, change := range map[string]func(*wire.InMessage){
		"a session of another conversation": func(m *wire.InMessage) { m.Session = "C2" },
		"a session of a longer name":        func(m *wire.InMessage) { m.Session = "C12:1" },
		"an empty suffix":                   func(m *wire.InMessage) { m.Session = "C1:" },
		"a suffix that leads out":           func(m *wire.InMessage) { m.Session = "C1:../x" },
		"no delivery id":                    func(m *wire.InMessage) { m.ID = "" },
		"no ts":                             func(m *wire.InMessage) { m.TS = "" },
		"no user":                           func(m *wire.InMessage) { m.User = "" },
		"a conversation that leads out":     func(m *wire.InMessage) { m.Conversation = "../x" },
		"a control character":               func(m *wire.InMessage) { m.User = "U\n1" },
		"no text":                           func(m *wire.InMessage) { m.Text = " \n" },
		"another kind":                      func(m *wire.InMessage) { m.Kind = "secret" },
	} {
		m := good
		change(&m)
		if err := c.deliver(m); !errors.Is(err, fs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, text := range map[string]string{"no JSON": "hello", "an unknown key": `{"id":"1","txet":"x"}`, "a list": `[]`} {
		if err := c.tree.WriteFile(ctx(t), "platforms/bus/in", []byte(text)); !errors.Is(err, fs.Invalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if list, err := c.rt.Addresses(); err != nil || len(list) != 0 {
		t.Errorf("there are offices: %v, %v", list, err)
	}
}

func TestContract_platform_intake_is_on_disk_when_the_write_returns(t *testing.T) {
	l := newLab(t)
	var restarted atomic.Bool
	l.computer = func(c context.Context, o *runtime.Office) (harness.Computer, string, error) {
		if !restarted.Load() {
			<-c.Done() // the run does not begin
			return nil, "", c.Err()
		}
		return computer(c, o)
	}
	c := l.chat(l.start(), "bus", fake.NewBus())
	if err := c.deliver(wire.InMessage{ID: "1", Conversation: "C1", Session: "C1", TS: "7", User: "U1", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if err := c.rt.Close(); err != nil {
		t.Fatal(err)
	}
	restarted.Store(true)
	c = l.join(l.start(), "bus", c.bus)
	same(t, "answers", c.answers("C1", 1), []string{"demo: hello"})
}

func TestContract_platform_intake_logs_what_asks_for_no_answer(t *testing.T) {
	c := newChat(t)
	c.bus.Say(wire.InMessage{Conversation: "C1", User: "U1", Text: "overheard", Silent: true})
	c.bus.Say(wire.InMessage{Conversation: "C1", User: "B2", Text: "another bot", Bot: true})
	c.say("C1", "asked")
	same(t, "answers", c.answers("C1", 1), []string{"demo: asked"})
	list := c.records("C1")
	same(t, "log", texts(list), []string{"U1: overheard", "B2: another bot", "U1: asked", "bot: demo: asked"})
	if !list[1].IsBot {
		t.Errorf("record %+v", list[1])
	}
}

func TestContract_platform_intake_is_refused_for_later_while_the_daemon_drains(t *testing.T) {
	c := newChat(t)
	c.rt.Drain()
	if err := c.deliver(wire.InMessage{ID: "1", Conversation: "C1", TS: "1", User: "U1", Text: "x"}); !errors.Is(err, fs.Again) {
		t.Fatal(err)
	}
}

func TestContract_platform_intake_brings_an_archived_office_back(t *testing.T) {
	c := newChat(t)
	c.say("C1", "one")
	c.answers("C1", 1)
	if err := c.tree.Remove(ctx(t), "offices/bus/C1"); err != nil {
		t.Fatal(err)
	}
	c.say("C1", "two")
	same(t, "answers", c.answers("C1", 2), []string{"demo: one", "demo: two"})
}

func TestContract_session_identity_comes_from_conversation_and_thread(t *testing.T) {
	for _, x := range []struct {
		what           string
		m              wire.InMessage
		session, reply string
	}{
		{"direct", wire.InMessage{Kind: wire.Direct, TS: "5"}, "main", ""},
		{"direct, in a thread", wire.InMessage{Kind: wire.Direct, TS: "5", Thread: "3"}, "3", "3"},
		{"shared", wire.InMessage{TS: "5"}, "5", "5"},
		{"shared, in a thread", wire.InMessage{TS: "5", Thread: "3"}, "3", "3"},
		{"shared, one session for all", wire.InMessage{TS: "5", Session: "C:1"}, "main", ""},
		{"one session, answers in threads", wire.InMessage{TS: "5", Session: "C:1", Reply: "5"}, "main", "5"},
		{"a suffix that is main", wire.InMessage{TS: "5", Session: "C:1:main"}, "%6Dain", ""},
	} {
		m := x.m
		m.Conversation, m.User = "C:1", "U"
		m = m.Complete()
		suffix, ok := wire.SessionKeySuffix(m.Conversation, m.Session)
		if got := wire.SessionName(suffix); !ok || got != x.session || m.Reply != x.reply {
			t.Errorf("%s: session %q, reply %q, %v", x.what, got, m.Reply, ok)
		}
	}
}

func TestContract_session_identity_one_key_is_serial_and_others_go_on(t *testing.T) {
	c := newChat(t)
	c.say("C1", "$ until [ -e go ]; do sleep 0.01; done; echo first")
	c.say("C1", "second")
	c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1:other", User: "U1", Text: "$ touch go; echo other"})
	got := c.answers("C1", 3)
	first, second := -1, -1
	for i, text := range got {
		switch text {
		case "first":
			first = i
		case "demo: second":
			second = i
		}
	}
	if first < 0 || second < first {
		t.Errorf("answers %q", got)
	}
}

func TestFault_I1_a_redelivered_message_is_one_run(t *testing.T) {
	c := newChat(t)
	m := wire.InMessage{ID: "e1", Conversation: "C1", Session: "C1", TS: "9", User: "U1", Text: "once"}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			again := m
			if i%2 == 1 {
				again.ID = fmt.Sprint("another event on the same message ", i)
			}
			if err := c.deliver(again); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c.bus.Deliver(m)
	c.answers("C1", 1)
	c = c.restart()
	if err := c.deliver(m); err != nil {
		t.Fatal(err)
	}
	c.say("C1", "another")
	same(t, "answers", c.answers("C1", 2), []string{"demo: once", "demo: another"})
	same(t, "log", texts(c.records("C1")), []string{"U1: once", "bot: demo: once", "U1: another", "bot: demo: another"})
}

func TestFault_I2_an_edit_is_recorded_and_not_run(t *testing.T) {
	c := newChat(t)
	ts := c.say("C1", "one")
	c.answers("C1", 1)
	if err := c.bus.Edit("C1", ts, "one"); err != nil { // nothing was changed: a link was unfurled
		t.Fatal(err)
	}
	for _, text := range []string{"two", "two"} {
		if err := c.bus.Edit("C1", ts, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.bus.Delete("C1", ts); err != nil {
		t.Fatal(err)
	}
	c.quiet()
	list := c.records("C1")
	same(t, "log", texts(list), []string{"U1: one", "bot: demo: one", "U1: two", "U1: "})
	if list[2].Change != wire.Edited || list[3].Change != wire.Deleted || list[2].TS != ts {
		t.Errorf("records %+v", list[2:])
	}
	c.answers("C1", 1)
}

// A platform may tell of a message first as one of many, and then as a mention.
func TestFault_I2_a_message_that_asks_only_later_is_run_and_logged_once(t *testing.T) {
	c := newChat(t)
	m := wire.InMessage{Conversation: "C1", Session: "C1", TS: "9", User: "U1", Text: "hi"}
	silent := m
	silent.Silent = true
	c.bus.Deliver(silent)
	c.bus.Deliver(m)
	c.bus.Deliver(silent)
	c.answers("C1", 1)
	same(t, "log", texts(c.records("C1")), []string{"U1: hi", "bot: demo: hi"})
}

func TestFault_I3_a_message_and_the_thread_it_starts_are_one_session(t *testing.T) {
	c := newChat(t)
	ts := c.bus.Say(wire.InMessage{Conversation: "C1", User: "U1", Text: "root"})
	c.answers("C1", 1)
	c.bus.Say(wire.InMessage{Conversation: "C1", Thread: ts, User: "U1", Text: "reply"})
	c.answers("C1", 2)
	names, err := c.tree.ReadDir(ctx(t), "offices/bus/C1/sessions")
	if err != nil || len(names) != 3 { // README, main, the thread
		t.Errorf("sessions %v, %v", names, err)
	}
	for _, m := range c.bus.Transcript("C1")[1:] {
		if m.Thread != ts {
			t.Errorf("%+v is not in the thread", m)
		}
	}
	if text := c.read("offices/bus/C1/sessions/" + ts + "/transcript"); !strings.Contains(text, "[in-thread:"+ts+"]: reply") {
		t.Errorf("transcript\n%s", text)
	}
}

func TestFault_Q6_a_full_queue_refuses_by_name_and_takes_it_later(t *testing.T) {
	l := newLab(t)
	l.computer = func(c context.Context, _ *runtime.Office) (harness.Computer, string, error) {
		<-c.Done() // nothing leaves the queue
		return nil, "", c.Err()
	}
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "first")
	eventually(t, "the first", func() bool { return c.bus.Undelivered() == 0 })
	c.stop()
	if err := c.rt.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+l.ws.Office(runtime.Address{Platform: "bus", ConversationID: "C1"}).Sessions)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`INSERT INTO prompt(session, kind, actor, text, state, accepted)
		WITH n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		SELECT session, kind, actor, text, state, accepted FROM prompt, n`, store.QueueLimit)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	c = l.chat(l.start(), "bus", c.bus)
	over := wire.InMessage{ID: "over", Conversation: "C1", Session: "C1", TS: "over", User: "U1", Text: "one too many"}
	err = c.deliver(over)
	if !errors.Is(err, fs.Again) {
		t.Fatal(err)
	}
	if text := c.read("errstr"); !strings.Contains(text, "over") {
		t.Errorf("errstr %q", text)
	}
	if strings.Contains(c.read("offices/bus/C1/log"), "one too many") {
		t.Error("what was refused is in the log")
	}
	if err := c.tree.WriteFile(ctx(t), "offices/bus/C1/ctl", []byte("stop\n")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "room", func() bool { return c.deliver(over) == nil })
}

func TestPlatforms_do_not_mix(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	one, two := l.join(rt, "one", fake.NewBus()), l.join(rt, "two", fake.NewBus())
	one.say("C1", "from one")
	two.say("C1", "from two")
	same(t, "one", one.answers("C1", 1), []string{"demo: from one"})
	same(t, "two", two.answers("C1", 1), []string{"demo: from two"})
	if one.read("offices/one/C1/key") == two.read("offices/two/C1/key") {
		t.Error("they share an office")
	}
}

func TestDesk_is_made_kept_and_removed(t *testing.T) {
	l := newLab(t)
	c := l.chat(l.start(), "irc", fake.NewBus())
	for name, kind := range map[string]error{"local": fs.Exist, "irc": fs.Exist, "IRC": fs.Invalid, "a-b": fs.Invalid, "abcdefghijklmnopq": fs.Invalid} {
		if err := c.tree.Mkdir(ctx(t), "platforms/"+name, 0o750); !errors.Is(err, kind) {
			t.Errorf("mkdir %s: %v, want %v", name, err, kind)
		}
	}
	caps := `{"ops":["post","history"],"keys":true,"maxText":400,"trust":"open-trigger","direct":true}`
	if err := c.tree.WriteFile(ctx(t), "platforms/irc/caps", []byte(caps)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`{"ops":["psot"]}`, `{"trust":"all"}`, `{"maxtext":1}`, `{"maxText":-1}`, `x`} {
		if err := c.tree.WriteFile(ctx(t), "platforms/irc/caps", []byte(bad)); !errors.Is(err, fs.Invalid) {
			t.Errorf("caps %s: %v", bad, err)
		}
	}
	if err := c.rt.Close(); err != nil {
		t.Fatal(err)
	}
	c = l.chat(l.start(), "irc", fake.NewBus())
	if got := c.read("platforms/irc/caps"); got != caps+"\n" {
		t.Errorf("caps after a restart: %s", got)
	}
	c.connect()
	if err := c.tree.Remove(ctx(t), "platforms/irc"); !errors.Is(err, fs.Busy) {
		t.Errorf("rmdir with an adapter: %v", err)
	}
	c.stop()
	eventually(t, "rmdir", func() bool { return c.tree.Remove(ctx(t), "platforms/irc") == nil })
	if _, err := c.tree.Stat(ctx(t), "platforms/irc"); !errors.Is(err, fs.NotExist) {
		t.Errorf("it is still there: %v", err)
	}
	c = newChat(t)
	c.say("C1", "x")
	c.answers("C1", 1)
	c.stop()
	if err := c.tree.Remove(ctx(t), "platforms/bus"); !errors.Is(err, fs.Busy) {
		t.Errorf("rmdir with an office: %v", err)
	}
}
