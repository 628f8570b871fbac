package runtime_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/fs/ninep"
	"mikan/runtime"
	"mikan/runtime/tree"
	"mikan/wire"
)

// chat is a chat platform whose adapter works at a desk of a runtime, over a
// socket.
type chat struct {
	t       testing.TB
	l       *lab
	rt      *runtime.Runtime
	bus     *fake.Bus
	adapter *fake.Adapter
	tree    *fs.Client
	stop    func() // ends the adapter and the socket; idempotent
}

// newChat starts a runtime with the platform bus, and its adapter.
func newChat(t testing.TB) *chat {
	l := newLab(t)
	return l.join(l.start(), "bus", fake.NewBus())
}

// join makes a platform of rt and starts its adapter.
func (l *lab) join(rt *runtime.Runtime, platform string, bus *fake.Bus) *chat {
	l.t.Helper()
	c := l.chat(rt, platform, bus)
	c.connect()
	return c
}

// chat makes a platform of rt.
func (l *lab) chat(rt *runtime.Runtime, platform string, bus *fake.Bus) *chat {
	l.t.Helper()
	c := &chat{t: l.t, l: l, rt: rt, bus: bus, adapter: &fake.Adapter{Platform: platform, Bus: bus}, stop: func() {}}
	socket := filepath.Join(l.t.TempDir(), "9p")
	listener, err := ninep.ListenUnix(socket, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	serving, hangUp := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- (&ninep.Server{Tree: tree.New(rt, tree.Daemon{})}).Serve(serving, listener) }()
	c.tree = dial(l.t, socket)
	l.t.Cleanup(func() {
		c.stop()
		c.tree.Close()
		hangUp()
		<-served
	})
	if _, err := rt.Desk(platform); err != nil {
		if err := c.tree.Mkdir(ctx(l.t), "platforms/"+platform, 0o750); err != nil {
			l.t.Fatal(err)
		}
	}
	return c
}

func dial(t testing.TB, socket string) *fs.Client {
	t.Helper()
	c, err := ninep.Dial(ctx(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// connect starts the adapter.
func (c *chat) connect() {
	c.t.Helper()
	working, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.adapter.Run(working, c.tree) }()
	c.stop = func() {
		stop()
		<-done
		c.stop = func() {}
	}
	eventually(c.t, "the adapter", func() bool { return c.status("connected") == "yes" })
}

// restart ends the runtime and starts another, with the adapter at its desk.
func (c *chat) restart() *chat {
	c.t.Helper()
	c.stop()
	if err := c.rt.Close(); err != nil {
		c.t.Fatal(err)
	}
	return c.l.join(c.l.start(), c.adapter.Platform, c.bus)
}

// status is a value of the desk's status.
func (c *chat) status(key string) string {
	c.t.Helper()
	for line := range strings.Lines(c.read("platforms/" + c.adapter.Platform + "/status")) {
		if v, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func (c *chat) read(name string) string {
	c.t.Helper()
	data, err := c.tree.ReadFile(ctx(c.t), name)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(data)
}

// records are the log of an office.
func (c *chat) records(conversation string) []wire.Record {
	c.t.Helper()
	var list []wire.Record
	for line := range strings.Lines(c.read("offices/" + c.adapter.Platform + "/" + conversation + "/log")) {
		var r wire.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			c.t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// answers waits until the bot has said n things in a conversation, and nothing is
// left to be posted.
func (c *chat) answers(conversation string, n int) []string {
	c.t.Helper()
	eventually(c.t, fmt.Sprintf("%d answers", n), func() bool { return len(c.bus.Answers(conversation)) >= n })
	c.quiet()
	list := c.bus.Answers(conversation)
	if len(list) != n {
		c.t.Fatalf("want %d answers, have %q", n, list)
	}
	for i := range list {
		list[i], _, _ = strings.Cut(list[i], "\n")
	}
	return list
}

// quiet waits until everything is taken in, answered and posted.
func (c *chat) quiet() {
	c.t.Helper()
	eventually(c.t, "quiet", func() bool { return c.bus.Undelivered() == 0 })
	c.quietRuns()
	eventually(c.t, "nothing to post", func() bool { return c.status("pending") == "0" })
}

// quietRuns waits until everything that was taken in is answered.
func (c *chat) quietRuns() {
	c.t.Helper()
	addresses, err := c.rt.Addresses()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, a := range addresses {
		o, err := c.rt.Conversation(a)
		if err != nil {
			c.t.Fatal(err)
		}
		if err := o.Wait(ctx(c.t)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// say has a person write a message to the session of a conversation.
func (c *chat) say(conversation, text string) string {
	return c.bus.Say(wire.InMessage{Conversation: conversation, Session: conversation, User: "U1", UserName: "ann", Text: text})
}

// deliver writes a message to in, past the adapter.
func (c *chat) deliver(m wire.InMessage) error {
	data, err := json.Marshal(m)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.tree.WriteFile(ctx(c.t), "platforms/"+c.adapter.Platform+"/in", data)
}

// operation writes to a chat file and reads what comes of it.
func (c *chat) operation(office, text string) (string, error) {
	c.t.Helper()
	f, err := c.tree.Open(ctx(c.t), "offices/"+office+"/chat", fs.Read|fs.Write)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteContext(ctx(c.t), []byte(text)); err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	return string(data), err
}

func texts(list []wire.Record) []string {
	var t []string
	for _, r := range list {
		line, _, _ := strings.Cut(r.Text, "\n")
		t = append(t, r.User+": "+line)
	}
	return t
}

func same(t testing.TB, what string, have, want []string) {
	t.Helper()
	if !slices.Equal(have, want) {
		t.Errorf("%s:\nhave %q\nwant %q", what, have, want)
	}
}
