package runtime_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/serve"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

const (
	toolsDir = "offices/local/demo/tools"
	weather  = toolsDir + "/weather"

	weatherSchema = `{"description":"The weather of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`
)

// addTool makes a tool with a schema.
func addTool(t testing.TB, c *fs.Client, dir, schema string) {
	t.Helper()
	if err := c.Mkdir(ctx(t), dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := c.WriteFile(ctx(t), dir+"/schema", []byte(schema)); err != nil {
		t.Fatal(err)
	}
}

// toolLab is an office that has the tool weather, which nobody serves.
func toolLab(t testing.TB) (*runtime.Runtime, *runtime.Session, *fs.Client) {
	rt := newLab(t).start()
	c, err := rt.Create(ctx(t), runtime.Address{Platform: "local", ConversationID: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	tree := client(t, rt)
	t.Cleanup(func() { tree.Close() })
	addTool(t, tree, weather, weatherSchema)
	return rt, session(t, c, "main"), tree
}

// serveTool serves a tool until the test ends or stop is called.
func serveTool(t testing.TB, rt *runtime.Runtime, dir string, handle serve.Handler) (stop func()) {
	t.Helper()
	serving, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	c := client(t, rt)
	go func() {
		err := serve.File(serving, c, dir+"/call", handle, serve.Options{Concurrency: 4})
		c.Close()
		done <- err
	}()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	t.Cleanup(stop)
	tool := toolAt(t, rt, dir)
	eventually(t, "the tool", func() bool { return len(tool.Call.Listeners()) == 1 })
	return stop
}

// toolAt is the tool of an office on the platform local, or of a desk, whose
// directory is dir.
func toolAt(t testing.TB, rt *runtime.Runtime, dir string) *runtime.AddedTool {
	t.Helper()
	var tools *runtime.Tools
	if parts := strings.Split(dir, "/"); parts[0] == "platforms" {
		d, err := rt.Desk(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		tools = d.Tools()
	} else {
		c, err := rt.Conversation(runtime.Address{Platform: "local", ConversationID: parts[2]})
		if err != nil {
			t.Fatal(err)
		}
		tools = c.Tools()
	}
	tool, err := tools.Find(dir[strings.LastIndexByte(dir, '/')+1:])
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// requestOf is the whole of what a tool was asked.
func requestOf(t testing.TB, ctx context.Context, r *serve.Request) (q wire.ToolRequest) {
	data, err := r.Content(ctx)
	if err == nil {
		err = json.Unmarshal(data, &q)
	}
	if err != nil {
		t.Error(err)
	}
	return q
}

func TestContract_harness_tools_a_client_adds_a_tool(t *testing.T) {
	rt, s, _ := toolLab(t)
	long := strings.Repeat("x", 5000)
	var asked []wire.ToolRequest
	serveTool(t, rt, weather, func(ctx context.Context, r *serve.Request) serve.Answer {
		q := requestOf(t, ctx, r)
		asked = append(asked, q)
		return serve.OK("sunny in " + string(q.Args))
	})
	if got := answer(t, s, `% weather {"city":"Kobe"}`); got != `sunny in {"city":"Kobe"}`+"\n" {
		t.Errorf("short: %q", got)
	}
	if got := answer(t, s, `% weather {"city":"`+long+`"}`); !strings.Contains(got, long) {
		t.Errorf("long: %.100q", got)
	}
	for i, q := range asked {
		want := wire.Origin{Kind: "interactive", Platform: "local", Session: "main", MessageTS: fmt.Sprint(2*i + 1), UserID: "local:ann", UserName: "ann"}
		if q.Call == "" || q.Conversation != "demo" || q.Origin.UserID != want.UserID || q.Origin.Session != want.Session || q.Origin.MessageTS == "" {
			t.Errorf("request %+v; want it to name the run: %+v", q, want)
		}
		if !strings.Contains(transcriptOf(t, s), `"toolCallId":"`+q.Call+`"`) {
			t.Errorf("no result in the history for the call %s", q.Call)
		}
	}
}

func TestAddedTool_without_anybody_to_serve_it_fails_at_once(t *testing.T) {
	rt, s, c := toolLab(t)
	if got := answer(t, s, `% weather {}`); got != "nobody serves the tool weather now, so the call was not made\n" {
		t.Errorf("nobody: %q", got)
	}
	if err := c.Mkdir(ctx(t), toolsDir+"/raw", 0o750); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, `% raw`); !strings.Contains(got, `there is no tool "raw"`) || !strings.Contains(got, "weather, write") {
		t.Errorf("without a schema: %q", got)
	}
	stop := serveTool(t, rt, weather, func(context.Context, *serve.Request) serve.Answer { return serve.OK("fine") })
	if got := answer(t, s, `% weather {}`); got != "fine\n" {
		t.Errorf("served: %q", got)
	}
	if err := c.Remove(ctx(t), weather); !errors.Is(err, fs.Busy) {
		t.Errorf("rmdir while it is served: %v", err)
	}
	stop()
	if err := c.Remove(ctx(t), weather); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, `% weather {}`); !strings.Contains(got, `there is no tool "weather"`) {
		t.Errorf("removed: %q", got)
	}
}

// What answers may be, and what becomes of those that are none.
func TestAddedTool_answers(t *testing.T) {
	rt, s, _ := toolLab(t)
	var say serve.Answer
	serveTool(t, rt, weather, func(context.Context, *serve.Request) serve.Answer { return say })
	dot := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	for name, c := range map[string]struct {
		say  serve.Answer
		want string
	}{
		"nothing":        {serve.OK(nil), "(no output)\n"},
		"text":           {serve.OK("two\nlines"), "two\nlines\n"},
		"JSON":           {serve.OK(map[string]int{"degrees": 20}), `{"degrees":20}` + "\n"},
		"content":        {serve.OK(map[string]any{"content": []wire.Part{wire.TextPart("a"), wire.TextPart("b")}}), "a\nb\n"},
		"null":           {serve.OK(json.RawMessage("null")), "null\n"},
		"error":          {serve.Error(errors.New("no such city")), "no such city\n"},
		"silent error":   {serve.Answer{Verb: "error"}, "weather failed and has not said why\n"},
		"giant error":    {serve.Error(errors.New(strings.Repeat("no ", 1<<18))), "[The first 50.0 KB of 768.0 KB. Full output: "},
		"foreign part":   {serve.OK(map[string]any{"content": []wire.Part{{Type: wire.ToolCall, Name: "bash"}}}), "weather was done, but what it gave cannot be read: "},
		"unknown key":    {serve.OK(json.RawMessage(`{"content":[],"detials":1}`)), "did you mean details?"},
		"no image":       {serve.OK(map[string]any{"content": []wire.Part{{Type: wire.Image, Data: base64.StdEncoding.EncodeToString([]byte("GIF7")), MimeType: "image/gif"}}}), "[image left out: not a PNG"},
		"damaged image":  {serve.OK(map[string]any{"content": []wire.Part{{Type: wire.Image, Data: dot[:24]}}}), "[image left out: "},
		"image":          {serve.OK(map[string]any{"content": []wire.Part{{Type: wire.Image, Data: dot}}}), ""},
		"control":        {serve.OK("a\x00\x07b"), "ab\n"},
		"giant":          {serve.OK(strings.Repeat("line\n", 1<<20)), "[The first 9.8 KB of 5.0 MB. Full output: "},
		"much on a line": {serve.OK(strings.Repeat("x", 1<<20)), "[The first 50.0 KB of 1.0 MB. Full output: "},
		"giant details":  {serve.OK(map[string]any{"content": []wire.Part{}, "details": strings.Repeat("x", 1<<17)}), "details: "},
	} {
		say = c.say
		got := answer(t, s, `% weather {}`)
		if !strings.Contains(got, c.want) || len(got) > 60<<10 {
			t.Errorf("%s: %.200q of %d bytes; want %q", name, got, len(got), c.want)
		}
	}
	if text := transcriptOf(t, s); strings.Count(text, dot) != 1 || strings.Count(text, `"mimeType":"image/png"`) != 1 {
		t.Error("the history has not the one image")
	}
	if list, err := filepath.Glob(filepath.Join(officeDir(t, rt), ".mikan/tool-output/*.txt")); err != nil || len(list) != 3 {
		t.Errorf("whole outputs: %q, %v", list, err)
	}
}

// Garbage is the error of its write, and the call stays open for a good answer,
// of which the first counts.
func TestAddedTool_garbage_and_second_answers_are_refused(t *testing.T) {
	_, s, c := toolLab(t)
	f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := prompt(t, s, `% weather {}`)
	tag := nextTag(t, f)
	for _, line := range []string{"x", "%s", "%s yes", "%s ok {", "%s ok {}{}", "9%s ok 1", "-1 ok"} {
		if strings.Contains(line, "%s") {
			line = fmt.Sprintf(line, tag)
		}
		if _, err := f.WriteContext(ctx(t), []byte(line+"\n")); !errors.Is(err, fs.Invalid) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok \"first\"\n", tag)); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok \"second\"\n", tag)); !errors.Is(err, fs.Invalid) {
		t.Errorf("a second answer: %v", err)
	}
	if got, err := read(t, a.Answer); err != nil || got != "first\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// nextTag reads a request and gives its tag.
func nextTag(t testing.TB, f *fs.File) string {
	t.Helper()
	buf := make([]byte, fs.MaxRequestLine)
	n, err := f.ReadContext(ctx(t), buf)
	if err != nil {
		t.Fatal(err)
	}
	tag, _, _ := strings.Cut(string(buf[:n]), " ")
	return tag
}

func TestAddedTool_of_one_who_dies_or_is_silent(t *testing.T) {
	_, s, c := toolLab(t)
	open := func() *fs.File {
		f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open()
	a := prompt(t, s, `% weather {}`)
	nextTag(t, f)
	f.Close()
	if got, _ := read(t, a.Answer); got != "who served the tool weather has left without an answer; it is not known what the call did\n" {
		t.Errorf("dead with the call: %q", got)
	}
	if err := c.WriteFile(ctx(t), weather+"/schema", []byte(strings.Replace(weatherSchema, "{", `{"timeout":"100ms",`, 1))); err != nil {
		t.Fatal(err)
	}
	f = open()
	defer f.Close()
	if got := answer(t, s, `% weather {}`); got != "the tool weather has not answered within 100ms; the call was not made\n" {
		t.Errorf("asleep: %q", got)
	}
	a = prompt(t, s, `% weather {}`) // who is asleep is not asked again
	if got, _ := read(t, a.Answer); !strings.Contains(got, "nobody serves") {
		t.Errorf("asleep again: %q", got)
	}
	late := make(chan string, 1)
	go func() { late <- nextTag(t, f) }()
	var got string
	eventually(t, "it is asked again", func() bool {
		got = answer(t, s, `% weather {}`)
		return !strings.Contains(got, "nobody serves")
	})
	if got != "the tool weather has not answered within 100ms; it is not known what the call did\n" {
		t.Errorf("awake and silent: %q", got)
	}
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok\n", <-late)); !errors.Is(err, fs.Invalid) {
		t.Errorf("an answer that is late: %v", err)
	}
}

func TestAddedTool_stop_withdraws_the_call_within_a_second(t *testing.T) {
	_, s, c := toolLab(t)
	f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := prompt(t, s, `% weather {}`)
	tag := nextTag(t, f)
	began := time.Now()
	s.Stop()
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("it took %v", took)
	}
	if text := transcriptOf(t, s); !strings.Contains(text, "the call of weather was withdrawn: stopped; it is not known what the call did") {
		t.Errorf("the history says\n%s", text)
	}
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok\n", tag)); !errors.Is(err, fs.Invalid) {
		t.Errorf("an answer after the stop: %v", err)
	}
}

func TestAddedTool_whose_holder_is_busy(t *testing.T) {
	_, s, c := toolLab(t)
	f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write); !errors.Is(err, fs.Busy) {
		t.Errorf("a second one to serve it: %v", err)
	}
	a := prompt(t, s, `% weather {}`)
	tag := nextTag(t, f)
	for _, name := range []string{"sessions/main/ctl", "ctl", "sessions/main/prompt"} {
		if err := c.WriteFile(ctx(t), "offices/local/demo/"+name, []byte("prompt me\n")); !errors.Is(err, fs.Busy) {
			t.Errorf("a prompt to %s: %v", name, err)
		}
	}
	for _, name := range []string{"wait", "sessions/main/wait", "sessions/main/reply"} {
		if _, err := c.ReadFile(ctx(t), "offices/local/demo/"+name); !errors.Is(err, fs.Busy) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok\n", tag)); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(ctx(t), ann, store.KindPrompt, "more"); err != nil {
		t.Error(err)
	}
}

// Two sessions call at once, and are answered the other way round.
func TestAddedTool_answers_reach_the_run_that_asked(t *testing.T) {
	rt, s, c := toolLab(t)
	if err := c.Mkdir(ctx(t), "offices/local/demo/sessions/side", 0o750); err != nil {
		t.Fatal(err)
	}
	office, err := rt.Conversation(runtime.Address{Platform: "local", ConversationID: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	both := make(chan struct{}, 2)
	serveTool(t, rt, weather, func(ctx context.Context, r *serve.Request) serve.Answer {
		q := requestOf(t, ctx, r)
		both <- struct{}{}
		eventually(t, "both are asked", func() bool { return len(both) == 2 })
		return serve.OK(q.Origin.Session + " " + string(q.Args))
	})
	one, two := prompt(t, s, `% weather {"n":1}`), prompt(t, session(t, office, "side"), `% weather {"n":2}`)
	if got, err := read(t, two.Answer); err != nil || got != `side {"n":2}`+"\n" {
		t.Errorf("side: %q, %v", got, err)
	}
	if got, err := read(t, one.Answer); err != nil || got != `main {"n":1}`+"\n" {
		t.Errorf("main: %q, %v", got, err)
	}
}

func TestAddedTool_passes_by_the_hooks(t *testing.T) {
	rt, s, _ := toolLab(t)
	policyOf(t, rt, "only tool_call weather")
	listen(t, rt, wire.HookCall, func(context.Context, *serve.Request) serve.Answer {
		return serve.Replace(map[string]any{"args": map[string]string{"city": "Nara"}})
	})
	listen(t, rt, wire.HookResult, func(context.Context, *serve.Request) serve.Answer { return serve.Deny("secret") })
	serveTool(t, rt, weather, func(ctx context.Context, r *serve.Request) serve.Answer {
		if q := requestOf(t, ctx, r); string(q.Args) != `{"city":"Nara"}` {
			t.Errorf("args %s", q.Args)
		}
		return serve.OK("sunny")
	})
	if got := answer(t, s, `% weather {"city":"Kobe"}`); got != "withheld: secret\n" {
		t.Errorf("%q", got)
	}
}

// A call that is out when the daemon ends holds nothing up, is told of after the
// restart, and is not made again.
func TestAddedTool_of_a_daemon_that_ends(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	c := client(t, rt)
	addTool(t, c, weather, weatherSchema)
	f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	prompt(t, s, `% weather {}`)
	nextTag(t, f)
	began := time.Now()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	f.Close()
	c.Close()
	rt = l.start()
	asked := make(chan struct{}, 8)
	serveTool(t, rt, weather, func(context.Context, *serve.Request) serve.Answer {
		asked <- struct{}{}
		return serve.OK("sunny")
	})
	s = session(t, l.office(rt, "demo"), "main")
	if got := answer(t, s, `% weather {}`); got != "sunny\n" {
		t.Errorf("after the restart: %q", got)
	}
	if n := len(asked); n != 1 {
		t.Errorf("it was called %d times", n)
	}
	if text := transcriptOf(t, s); !strings.Contains(text, "it is not known what the call did") && !strings.Contains(text, "what the call did until then is not known") {
		t.Errorf("the history says\n%s", text)
	}
}

// What was done before the stop is told as done.
func TestAddedTool_answer_before_a_stop_counts(t *testing.T) {
	_, s, c := toolLab(t)
	f, err := c.Open(ctx(t), weather+"/call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 30 {
		a := prompt(t, s, `% weather {}`)
		if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s ok \"sunny\"\n", nextTag(t, f))); err != nil {
			t.Fatal(err)
		}
		s.Stop()
		if _, err := read(t, a.Answer); err != nil {
			t.Fatal(err)
		}
	}
	if text := transcriptOf(t, s); strings.Contains(text, "withdrawn") {
		t.Errorf("%d answers were dropped", strings.Count(text, "withdrawn"))
	}
}
