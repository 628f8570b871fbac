package runtime_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

func TestChat_does_operations_on_the_platform(t *testing.T) {
	c := newChat(t)
	c.bus.AddUser(wire.OpUser{ID: "U1", Name: "ann"})
	c.say("C1", "hello")
	c.answers("C1", 1)
	said, err := c.operation("bus/C1", `{"op":"post","text":"by hand","thread":"9"}`)
	if err != nil {
		t.Fatal(err)
	}
	var a wire.OpAnswer
	if err := json.Unmarshal([]byte(said), &a); err != nil {
		t.Fatal(err)
	}
	m := c.bus.Transcript("C1")[2]
	if m.TS != a.TS || m.Text != "by hand" || m.Thread != "9" || m.Key == "" {
		t.Errorf("posted %+v, answer %s", m, said)
	}
	if r := c.records("C1")[2]; r.TS != a.TS || r.Text != "by hand" || r.ThreadTS != "9" || !r.IsBot {
		t.Errorf("record %+v", r)
	}
	for op, want := range map[string]string{
		`{"op":"react","ts":"` + a.TS + `","emoji":"eyes"}`: "{}\n",
		`{"op":"history","thread":"9"}`:                     `"text":"by hand"`,
		`{"op":"users"}`:                                    `"name":"ann"`,
	} {
		if got, err := c.operation("bus/C1", op); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", op, got, err)
		}
	}
	if m := c.bus.Transcript("C1")[2]; len(m.Reactions) != 1 {
		t.Errorf("reactions %v", m.Reactions)
	}
}

func TestChat_says_what_is_wrong(t *testing.T) {
	c := newChat(t)
	c.say("C1", "hello")
	c.answers("C1", 1)
	refused := func(op string, kind error, why string) {
		t.Helper()
		_, err := c.operation("bus/C1", op)
		if text := c.read("errstr"); !errors.Is(err, kind) || !strings.Contains(text, why) {
			t.Errorf("%s: %v, errstr %q, want %q", op, err, text, why)
		}
	}
	refused(`{"op":"psot","text":"x"}`, fs.Invalid, "did you mean post?")
	refused(`{"op":"post"}`, fs.Invalid, "post needs text")
	refused(`{"op":"post","text":"x","ts":"1"}`, fs.Invalid, "takes no ts")
	refused(`{"op":"post","text":"x","conversation":"C2"}`, fs.Invalid, "leave it out")
	refused(`post x`, fs.Invalid, "chat:1: ")
	refused(`{"op":"ephemeral","text":"x","user":"U1"}`, fs.NotSupported, "no operation ephemeral")
	refused(`{"op":"delete","ts":"1"}`, fs.IO, "message_not_found")
	c.bus.Trouble(fake.Trouble{Op: "post", What: fake.DropAck})
	refused(`{"op":"post","text":"x","key":"k1"}`, fs.IO, "not known whether post was done; history with the key k1 may tell")
	eventually(t, "the adapter", func() bool { return c.status("connected") == "yes" })
	if got, err := c.operation("bus/C1", `{"op":"history","key":"k1"}`); err != nil || !strings.Contains(got, `"key":"k1"`) {
		t.Errorf("history: %q, %v", got, err)
	}
	c.stop()
	refused(`{"op":"users"}`, fs.Again, "no adapter serves platforms/bus/out")
}

func TestChat_of_an_adapter_that_holds_a_request_is_refused(t *testing.T) {
	c := newChat(t)
	c.say("C1", "hello")
	c.answers("C1", 1)
	c.stop()
	out, err := c.tree.Open(ctx(t), "platforms/bus/out", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := c.deliver(wire.InMessage{ID: "x", Conversation: "C1", Session: "C1", TS: "x", User: "U1", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := out.ReadContext(ctx(t), make([]byte, fs.MaxRequestLine)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.operation("bus/C1", `{"op":"users"}`); !errors.Is(err, fs.Busy) {
		t.Errorf("users: %v", err)
	}
}

func TestChat_on_the_built_in_platform(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	c := l.chat(rt, "unused", fake.NewBus())
	answer(t, s, "hello")
	said, err := c.operation("local/demo", `{"op":"post","text":"an announcement","key":"k"}`)
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.operation("local/demo", `{"op":"post","text":"an announcement","key":"k"}`)
	if err != nil || again != said {
		t.Errorf("with the same key: %q, then %q, %v", said, again, err)
	}
	for op, want := range map[string]string{
		`{"op":"history","limit":1}`:    `{"messages":[{"ts":"post-1","user":"bot","text":"an announcement","bot":true}]}`,
		`{"op":"history","key":"k"}`:    `"ts":"post-1"`,
		`{"op":"history","key":"none"}`: `{}`,
		`{"op":"users"}`:                `{"users":[{"id":"local:ann","name":"ann"}]}`,
	} {
		if got, err := c.operation("local/demo", op); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, %v", op, got, err)
		}
	}
	if got := c.read("offices/local/demo/log"); strings.Count(got, "an announcement") != 1 {
		t.Errorf("log\n%s", got)
	}
	if _, err := c.operation("local/demo", `{"op":"react","ts":"1","emoji":"eyes"}`); !errors.Is(err, fs.NotSupported) {
		t.Errorf("react: %v", err)
	}
}

func TestChat_uploads_a_file_of_the_office_and_nothing_else(t *testing.T) {
	c := newChat(t)
	c.say("C1", "hello")
	c.answers("C1", 1)
	dir := c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"}).Dir
	if err := os.WriteFile(filepath.Join(dir, "report.txt"), []byte("all is well"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink("/etc/passwd", filepath.Join(dir, "link")), syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.operation("bus/C1", `{"op":"upload","file":"report.txt","title":"Report"}`); err != nil {
		t.Fatal(err)
	}
	if m := c.bus.Transcript("C1")[2]; string(m.File) != "all is well" || m.Text != "report.txt" {
		t.Errorf("uploaded %+v", m)
	}
	for _, name := range []string{"../../state/settings.json", "/etc/passwd", "link", "fifo", "none", "."} {
		data, err := json.Marshal(wire.OpRequest{Op: "upload", File: name})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.operation("bus/C1", string(data)); err == nil {
			t.Errorf("%s was uploaded: %s", name, got)
		}
	}
	if n := len(c.bus.Answers("C1")); n != 2 {
		t.Errorf("%d messages", n)
	}
}
