package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// busFiles is the directory of the office bus/C1, which is made by a message.
func busFiles(t testing.TB, c *chat) string {
	t.Helper()
	c.say("C1", "hello")
	c.answers("C1", 1)
	return c.rt.Workspace().Office(runtime.Address{Platform: "bus", ConversationID: "C1"}).Dir
}

// call is a line of a prompt that calls a tool.
func call(t testing.TB, tool string, args map[string]string) string {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return "% " + tool + " " + string(data) + "\n"
}

// uploads are the files that stand in a conversation.
func uploads(c *chat, conversation string) (list []fake.Message) {
	for _, m := range c.bus.Transcript(conversation) {
		if m.File != nil {
			list = append(list, m)
		}
	}
	return list
}

func TestContract_executor_transport_attach_sends_a_file_of_the_workspace(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	big := strings.Repeat("0123456789abcdef", 1<<18) // 4 MiB
	for name, text := range map[string]string{"report.txt": "all is well", "sub/big": big, "empty": ""} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("sub/big", filepath.Join(dir, "latest")); err != nil {
		t.Fatal(err)
	}
	c.bus.Say(wire.InMessage{Conversation: "C1", User: "U1", UserName: "ann", Thread: "9", Text: call(t, "attach", map[string]string{"path": "report.txt", "title": "The report"}) +
		call(t, "attach", map[string]string{"path": dir + "/sub/big"}) + call(t, "attach", map[string]string{"path": "./latest"}) + call(t, "attach", map[string]string{"path": "empty"})})
	c.answers("C1", 6)
	sent := uploads(c, "C1")
	if len(sent) != 4 {
		t.Fatalf("%d uploads: %q", len(sent), c.bus.Answers("C1"))
	}
	for i, want := range []struct{ name, text string }{{"report.txt", "all is well"}, {"big", big}, {"latest", big}, {"empty", ""}} {
		if m := sent[i]; m.Text != want.name || string(m.File) != want.text || m.Thread != "9" {
			t.Errorf("upload %d: %s of %d bytes in the thread %q", i, m.Text, len(m.File), m.Thread)
		}
	}
	var logged []string
	for _, r := range c.records("C1") {
		if strings.HasPrefix(r.Text, "(uploaded") {
			logged = append(logged, r.ThreadTS+" "+r.Text)
		}
	}
	same(t, "log", logged, []string{"9 (uploaded: report.txt)", "9 (uploaded: big)", "9 (uploaded: latest)", "9 (uploaded: empty)"})
	if left, err := os.ReadDir(filepath.Join(c.l.ws.StateDir, "staging")); err != nil || len(left) > 0 {
		t.Errorf("the copies are still there: %v, %v", left, err)
	}
	if info, err := os.Stat(filepath.Join(c.l.ws.StateDir, "staging")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("where they were: %v, %v", info.Mode(), err)
	}
}

func TestFault_S1_attach_of_hostile_names(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	secret := filepath.Join(c.l.ws.StateDir, "settings.json")
	beside := filepath.Join(filepath.Dir(dir), "v1-other", "secret")
	if err := errors.Join(os.MkdirAll(filepath.Dir(beside), 0o700), os.WriteFile(beside, []byte("secret"), 0o600)); err != nil {
		t.Fatal(err)
	}
	n := 1
	for name, why := range map[string]string{
		"":                                    "path is missing",
		"../v1-other/secret":                  "without ..",
		"a/../../v1-other/secret":             "without ..",
		dir + "/../v1-other/secret":           "without ..",
		"a/..":                                "without ..",
		secret:                                "not below the working directory",
		"/etc/passwd":                         "not below the working directory",
		dir + "-x/secret":                     "not below the working directory",
		dir:                                   "not below the working directory",
		"report\x00.txt":                      "NUL",
		"\u2024\u2024/v1-other/secret":        "no such file",
		"..\\v1-other\\secret":                "no such file",
		"%2e%2e/v1-other/secret":              "no such file",
		strings.Repeat("x", 5000):             "too long",
		strings.Repeat("x/", 5000) + "secret": "no such file",
		".":                                   "not a regular file",
		"none":                                "no such file",
	} {
		c.say("C1", call(t, "attach", map[string]string{"path": name}))
		n++
		if got := c.answers("C1", n)[n-1]; !strings.Contains(got, why) || strings.Contains(got, "state/") && name != secret {
			t.Errorf("%.60q: %.300q; want %q", name, got, why)
		}
	}
	if sent := uploads(c, "C1"); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}

func TestFault_S2_attach_follows_no_link_out_and_opens_regular_files_only(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret"), in("link")), os.Symlink(outside, in("dir")), os.Symlink("/proc/self/environ", in("proc")),
		os.Symlink("nowhere", in("dangling")), os.Symlink("loop", in("loop")), os.Symlink("/dev/zero", in("zero")),
		os.Symlink("fifo", in("tofifo")), syscall.Mkfifo(in("fifo"), 0o600), os.Mkdir(in("sub"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	names := []string{"link", "dir/secret", "proc", "dangling", "loop", "zero", "tofifo", "fifo", "sub"}
	if syscall.Mknod(in("device"), syscall.S_IFCHR|0o666, 1<<8|5) == nil {
		names = append(names, "device")
	}
	var text string
	for _, name := range names {
		text += call(t, "attach", map[string]string{"path": name})
	}
	began := time.Now()
	c.say("C1", text)
	c.answers("C1", 2)
	if took := time.Since(began); took > patience/2 {
		t.Errorf("it took %v", took)
	}
	list := c.bus.Answers("C1")
	if got := strings.Count(list[len(list)-1], "attach: "); got != len(names) {
		t.Errorf("%d of %d were refused:\n%s", got, len(names), list[len(list)-1])
	}
	if sent := uploads(c, "C1"); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}

// The agent exchanges the file for a link, a pipe and back, as fast as it can.
func TestFault_S2_attach_of_a_file_that_is_exchanged_meanwhile(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		name, next := filepath.Join(dir, "file"), filepath.Join(dir, "next")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			switch i % 3 {
			case 0:
				_ = os.WriteFile(next, []byte("inside"), 0o600)
			case 1:
				_ = os.Symlink(secret, next)
			case 2:
				_ = syscall.Mkfifo(next, 0o600)
			}
			_ = os.Rename(next, name)
		}
	}()
	var text strings.Builder
	for i := range 60 {
		text.WriteString(call(t, "attach", map[string]string{"path": "file", "title": fmt.Sprint(i)}))
	}
	c.say("C1", text.String())
	eventually(t, "the answer", func() bool {
		list := c.bus.Transcript("C1")
		last := list[len(list)-1]
		return last.User == "bot" && last.File == nil && strings.Count(last.Text, "\n") > 50
	})
	close(stop)
	<-done
	for _, m := range uploads(c, "C1") {
		if string(m.File) != "inside" {
			t.Fatalf("sent %q", m.File)
		}
	}
}

func TestAttach_of_more_than_can_be_uploaded(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	f, err := os.Create(filepath.Join(dir, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(fs.MaxRequestBody+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	c.say("C1", call(t, "attach", map[string]string{"path": "huge"}))
	if got := c.answers("C1", 2)[1]; !strings.Contains(got, `"huge" has 67108865 bytes; 67108864 can be uploaded`) {
		t.Errorf("%q", got)
	}
}

// What the platform cannot do the agent is not offered.
func TestChatTools_are_what_the_platform_can_do(t *testing.T) {
	c := newChat(t)
	busFiles(t, c)
	caps := func(ops string) {
		t.Helper()
		if err := c.tree.WriteFile(ctx(t), "platforms/bus/caps", []byte(ops)); err != nil {
			t.Fatal(err)
		}
	}
	caps(`{"ops":["post","react"]}`)
	c.say("C1", "% attach {}")
	if got := c.answers("C1", 2)[1]; !strings.Contains(got, `there is no tool "attach"`) || !strings.Contains(got, "react, read") {
		t.Errorf("without upload: %q", got)
	}
	caps(`{"ops":["post","upload"]}`)
	c.say("C1", "% react {}")
	if got := c.answers("C1", 3)[2]; !strings.Contains(got, `there is no tool "react"`) || !strings.Contains(got, "attach, bash") {
		t.Errorf("without react: %q", got)
	}
}

func TestReact_to_the_message_that_is_answered(t *testing.T) {
	c := newChat(t)
	busFiles(t, c)
	ts := c.say("C1", `% react {"label":"on it","emoji":":eyes:"}`)
	if got := c.answers("C1", 2)[1]; got != "Reacted with eyes." {
		t.Errorf("%q", got)
	}
	for _, m := range c.bus.Transcript("C1") {
		if has := fmt.Sprint(m.Reactions); m.TS == ts != (has == "[eyes]") {
			t.Errorf("%s has %s", m.TS, has)
		}
	}
	for i, emoji := range []string{"", "::", "two words", "a/b", "a:b", "tab\t!", strings.Repeat("x", 65)} {
		c.say("C1", call(t, "react", map[string]string{"emoji": emoji}))
		if got := c.answers("C1", 3+i)[2+i]; !strings.Contains(got, "bad arguments: emoji") {
			t.Errorf("%q: %q", emoji, got)
		}
	}
	c.bus.Trouble(fake.Trouble{Op: "react", What: fake.Refuse, Text: strings.Repeat("no ", 5000)})
	office, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if err != nil {
		t.Fatal(err)
	}
	c.say("C1", `% react {"emoji":"eyes"}`)
	if got := c.answers("C1", 10)[9]; !strings.HasPrefix(got, "react: no no ") || len(got) > 3000 {
		t.Errorf("refused: %d bytes, %.80q", len(got), got)
	}
	if got := answer(t, session(t, office, "main"), `% react {"emoji":"👍🏽"}`); !strings.Contains(got, "nothing to react to") {
		t.Errorf("to a prompt by a file: %q", got)
	}
}

// Nobody who adds a tool can take the name of one that the agent has.
func TestChatTools_and_all_others_have_names_that_are_kept(t *testing.T) {
	c := newChat(t)
	busFiles(t, c)
	c.say("C1", "% nothing {}")
	_, list, ok := strings.Cut(c.answers("C1", 2)[1], "the tools are: ")
	names := strings.Split(list, ", ")
	if !ok || len(names) < 6 {
		t.Fatalf("the tools are %q", list)
	}
	for _, name := range names {
		if wire.CheckToolName(name) == nil {
			t.Errorf("wire.ToolNames lacks %s", name)
		}
	}
}

func TestFault_21_23_attach_sends_no_file_of_the_host(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	if err := errors.Join(os.Symlink("/etc", filepath.Join(dir, "attachments")), os.Symlink(c.l.ws.StateDir, filepath.Join(dir, "skills"))); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"/etc/passwd", "attachments/passwd", dir + "/attachments/passwd", "skills/settings.json", "../../state/settings.json"} {
		c.say("C1", call(t, "attach", map[string]string{"path": name}))
		if got := c.answers("C1", 2+i)[1+i]; strings.Contains(got, "Sent") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if sent := uploads(c, "C1"); len(sent) > 0 {
		t.Errorf("sent %+v", sent)
	}
}

func TestFault_21_27_attach_keeps_no_large_file_in_memory(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	const size = 60 << 20
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "large"), []byte("begin"), 0o600), os.Truncate(filepath.Join(dir, "large"), size)); err != nil {
		t.Fatal(err)
	}
	c.stop()
	out, err := c.tree.Open(ctx(t), "platforms/bus/out", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	office, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if err != nil {
		t.Fatal(err)
	}
	heap := func() uint64 {
		var m goruntime.MemStats
		goruntime.GC()
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	a := prompt(t, session(t, office, "main"), `% attach {"path":"large"}`)
	tag := nextTag(t, out)
	body, err := c.tree.Open(ctx(t), "platforms/bus/.body/"+tag, fs.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if info, err := body.Stat(ctx(t)); err != nil || info.Size != size {
		t.Errorf("the body has %d bytes, %v", info.Size, err)
	}
	if n, err := io.CopyN(io.Discard, body, size); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if after := heap(); after > before+size/4 {
		t.Errorf("%d bytes are in memory, %d before", after, before)
	}
	if _, err := out.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok\n", tag)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, a.Answer); err != nil || got != "Sent large to the chat.\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// A stop does not wait for the adapter, and what it does all the same is
// recorded.
func TestAttach_stop_does_not_wait_for_the_adapter(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("inside"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.stop()
	out, err := c.tree.Open(ctx(t), "platforms/bus/out", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	office, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if err != nil {
		t.Fatal(err)
	}
	s := session(t, office, "main")
	a := prompt(t, s, `% attach {"path":"file"}`)
	tag := nextTag(t, out)
	if err := c.tree.WriteFile(ctx(t), "offices/bus/C1/ctl", []byte("prompt me\n")); !errors.Is(err, fs.Busy) {
		t.Errorf("a prompt by the adapter that holds the upload: %v", err)
	}
	began := time.Now()
	s.Stop()
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	if got := c.read("platforms/bus/.body/" + tag); got != "inside" {
		t.Errorf("the file is %q", got)
	}
	if _, err := out.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok {\"ts\":\"77\"}\n", tag)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the record", func() bool {
		list := c.records("C1")
		return strings.Contains(fmt.Sprint(texts(list)), "bot: (uploaded: file)")
	})
}

func TestAttach_on_the_built_in_platform_is_recorded(t *testing.T) {
	rt, s := hookLab(t)
	if err := os.WriteFile(filepath.Join(officeDir(t, rt), "report.txt"), []byte("all is well"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, `% attach {"path":"report.txt"}`); got != "Sent report.txt to the chat.\n" {
		t.Errorf("%q", got)
	}
	if got := answer(t, s, `% attach {"path":"none"}`); got != `attach: upload: "none": no such file or directory`+"\n" {
		t.Errorf("%q", got)
	}
	c := client(t, rt)
	log, err := c.ReadFile(ctx(t), "offices/local/demo/log")
	if err != nil || strings.Count(string(log), `"text":"(uploaded: report.txt)"`) != 1 {
		t.Errorf("log\n%s%v", log, err)
	}
	if got := answer(t, s, `% react {"emoji":"eyes"}`); !strings.Contains(got, `there is no tool "react"`) {
		t.Errorf("react: %q", got)
	}
}

// Whatever a file is called, it is sent, and people see what it is.
func TestAttach_of_names_that_do_not_fit_or_lie(t *testing.T) {
	c := newChat(t)
	dir := busFiles(t, c)
	for i, name := range []struct{ is, sent string }{
		{strings.Repeat("<", 251) + ".txt", strings.Repeat("<", 36) + ".txt"},
		{strings.Repeat(`"`, 255), strings.Repeat(`"`, 255)},
		{"a\u202etxt.exe", "a_txt.exe"},
		{"a\u2028b\tc", "a_b_c"},
	} {
		if err := os.WriteFile(filepath.Join(dir, name.is), []byte("inside"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.say("C1", call(t, "attach", map[string]string{"path": name.is, "title": strings.Repeat("&", 255)}))
		c.answers("C1", 3+2*i)
		if sent := uploads(c, "C1"); len(sent) != i+1 || sent[i].Text != name.sent {
			t.Errorf("%.20q: %.80q, %+v", name.is, c.answers("C1", 3+2*i), sent)
		}
	}
}
