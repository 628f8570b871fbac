package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
	"mikan/fs/serve"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/runtime/tree"
	"mikan/wire"
)

// client is a client of the tree of rt, in this process.
func client(t testing.TB, rt *runtime.Runtime) *fs.Client {
	t.Helper()
	c, err := tree.New(rt, tree.Daemon{}).Client(ctx(t), &fs.Identity{Name: "ann", UID: uint32(os.Getuid())})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// listen serves a hook of the office demo until the test ends.
func listen(t testing.TB, rt *runtime.Runtime, hook string, handle serve.Handler) {
	t.Helper()
	s := hooksOf(t, rt).Services[hook]
	before := len(s.Listeners())
	serving, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	c := client(t, rt)
	go func() { done <- serve.File(serving, c, "offices/local/demo/hooks/"+hook, handle, serve.Options{}) }()
	t.Cleanup(func() { stop(); <-done; c.Close() })
	eventually(t, "the listener", func() bool { return len(s.Listeners()) > before })
}

func hooksOf(t testing.TB, rt *runtime.Runtime) *runtime.Hooks {
	t.Helper()
	c, err := rt.Conversation(runtime.Address{Platform: "local", ConversationID: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return c.Hooks()
}

func officeDir(t testing.TB, rt *runtime.Runtime) string {
	return rt.Workspace().Office(runtime.Address{Platform: "local", ConversationID: "demo"}).Dir
}

func policyOf(t testing.TB, rt *runtime.Runtime, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if err := hooksOf(t, rt).Command(ctx(t), line); err != nil {
			t.Fatal(err)
		}
	}
}

func hookLab(t *testing.T) (*runtime.Runtime, *runtime.Session) {
	rt := newLab(t).start()
	c, err := rt.Create(ctx(t), runtime.Address{Platform: "local", ConversationID: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	return rt, session(t, c, "main")
}

func TestHook_denies_a_tool_call(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookCall, func(ctx context.Context, r *serve.Request) serve.Answer {
		call, err := r.Content(ctx)
		if err != nil || strings.Contains(string(call), "rm -rf") {
			return serve.Deny("not here")
		}
		return serve.Allow()
	})
	if got := answer(t, s, "$ echo rm -rf >made"); !strings.Contains(got, "refused: not here") {
		t.Errorf("denied: %q", got)
	}
	if got := answer(t, s, "$ ls; echo fine"); got != "fine\n" && !strings.HasSuffix(got, "fine\n") || strings.Contains(got, "made") {
		t.Errorf("allowed: %q", got)
	}
}

func TestHook_replaces_arguments_and_results_in_a_chain(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookCall, func(context.Context, *serve.Request) serve.Answer {
		return serve.Replace(map[string]any{"args": map[string]string{"label": "x", "command": "echo changed secret"}})
	})
	for i := range 2 {
		listen(t, rt, wire.HookResult, func(ctx context.Context, r *serve.Request) serve.Answer {
			data, err := r.Content(ctx)
			if err != nil {
				t.Error(err)
			}
			if i == 0 {
				return serve.Replace(json.RawMessage(strings.ReplaceAll(string(data), "secret", "[redacted]")))
			}
			if !strings.Contains(string(data), "[redacted]") {
				t.Errorf("the second sees %s", data)
			}
			return serve.Allow()
		})
	}
	if got := answer(t, s, "$ echo mine"); got != "changed [redacted]\n" {
		t.Errorf("answer %q", got)
	}
	text := transcriptOf(t, s)
	if strings.Contains(text, "secret") || !strings.Contains(text, "echo mine") {
		t.Errorf("the history keeps the model's call and the changed result:\n%s", text)
	}
}

func TestHook_denied_start_leaves_nothing_in_the_history(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookStart, func(ctx context.Context, r *serve.Request) serve.Answer {
		data, err := r.Content(ctx)
		if err != nil {
			t.Error(err)
		}
		switch {
		case strings.Contains(string(data), `"prompt":"forbidden`):
			return serve.Deny("not today")
		case strings.Contains(string(data), `"prompt":"change`):
			return serve.Replace(map[string]string{"prompt": "$ echo instead"})
		}
		return serve.Allow()
	})
	_, err := read(t, prompt(t, s, "forbidden words").Answer)
	if !errors.Is(err, fs.IO) || !strings.Contains(err.Error(), "not today") {
		t.Errorf("denied: %v", err)
	}
	if text := transcriptOf(t, s); strings.Contains(text, "forbidden") {
		t.Errorf("the history has it:\n%s", text)
	}
	if got := answer(t, s, "change this"); got != "instead\n" {
		t.Errorf("replaced: %q", got)
	}
	if text := transcriptOf(t, s); !strings.Contains(text, "[ann]: $ echo instead") {
		t.Errorf("the prefix is lost:\n%s", text)
	}
}

// What listeners may do that is no answer, and what becomes of the run.
func TestHook_without_an_answer_the_policy_decides(t *testing.T) {
	block := func(ctx context.Context, _ *serve.Request) serve.Answer { <-ctx.Done(); return serve.Answer{} }
	for name, handle := range map[string]serve.Handler{
		"nobody":  nil,
		"silence": block,
		"unfit": func(context.Context, *serve.Request) serve.Answer {
			return serve.Replace(map[string]any{"args": "no object"})
		},
		"uninformed": func(context.Context, *serve.Request) serve.Answer { return serve.Allow() },
	} {
		t.Run(name, func(t *testing.T) {
			rt, s := hookLab(t)
			if handle != nil {
				listen(t, rt, wire.HookCall, handle)
			}
			long := strings.Repeat("x", 2000) // so that there is a body to be read
			policyOf(t, rt, "timeout tool_call 300ms")
			if got := answer(t, s, "$ echo went on # "+long); got != "went on\n" {
				t.Errorf("optional: %.200q", got)
			}
			policyOf(t, rt, "require tool_call")
			got := answer(t, s, "$ echo went on # "+long)
			if strings.Contains(got, "went on\n") || !strings.Contains(got, "the hook tool_call must answer") {
				t.Errorf("require: %.200q", got)
			}
			policyOf(t, rt, "only tool_call read,write")
			if got := answer(t, s, "$ echo not asked # "+long); got != "not asked\n" {
				t.Errorf("only other tools: %.200q", got)
			}
		})
	}
}

func TestHook_that_dies_with_the_question_is_gone_at_once(t *testing.T) {
	rt, s := hookLab(t)
	c := client(t, rt)
	f, err := c.Open(ctx(t), "offices/local/demo/hooks/tool_call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	policyOf(t, rt, "timeout tool_call 10m", "require tool_call")
	a := prompt(t, s, "$ echo x")
	buf := make([]byte, fs.MaxRequestLine)
	if _, err := f.ReadContext(ctx(t), buf); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, a.Answer); err != nil || !strings.Contains(got, "the hook tool_call must answer") {
		t.Errorf("%q, %v", got, err)
	}
}

func TestHook_stop_withdraws_the_question(t *testing.T) {
	rt, s := hookLab(t)
	asked := make(chan struct{})
	listen(t, rt, wire.HookCall, func(ctx context.Context, _ *serve.Request) serve.Answer {
		close(asked)
		<-ctx.Done()
		return serve.Answer{}
	})
	policyOf(t, rt, "timeout tool_call 10m")
	a := prompt(t, s, "$ echo x >made")
	<-asked
	s.Stop()
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	if st := status(t, s); !strings.Contains(st, "last stopped\n") {
		t.Errorf("status\n%s", st)
	}
}

// Who holds a question of a session cannot wait for that session, and another
// can.
func TestHook_holder_is_busy(t *testing.T) {
	rt, s := hookLab(t)
	c := client(t, rt)
	defer c.Close()
	f, err := c.Open(ctx(t), "offices/local/demo/hooks/tool_call", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := prompt(t, s, "$ echo x")
	buf := make([]byte, fs.MaxRequestLine)
	n, err := f.ReadContext(ctx(t), buf)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sessions/main/ctl", "ctl", "sessions/main/prompt"} {
		if err := c.WriteFile(ctx(t), "offices/local/demo/"+name, []byte("prompt me\n")); !errors.Is(err, fs.Busy) {
			t.Errorf("a prompt to %s: %v", name, err)
		}
	}
	if _, err := c.ReadFile(ctx(t), "offices/local/demo/sessions/main/wait"); !errors.Is(err, fs.Busy) {
		t.Errorf("wait: %v", err)
	}
	if err := c.WriteFile(ctx(t), "offices/local/demo/ctl", []byte("new side\n")); err != nil {
		t.Errorf("a command that is no prompt: %v", err)
	}
	if err := c.WriteFile(ctx(t), "offices/local/demo/sessions/side/ctl", []byte("prompt other\n")); err != nil {
		t.Errorf("a prompt to another session: %v", err)
	}
	tag, _, _ := strings.Cut(string(buf[:n]), " ")
	if _, err := f.WriteContext(ctx(t), fmt.Appendf(nil, "%s allow\n", tag)); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, a.Answer); err != nil || got != "x\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := s.Prompt(ctx(t), ann, store.KindPrompt, "more"); err != nil {
		t.Error(err)
	}
}

func TestHook_policy_is_kept_and_checked(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	policyOf(t, rt, "require tool_call", "timeout tool_call 7s", "only tool_call bash,write")
	for line, say := range map[string]string{
		"require tool_cal":       "did you mean tool_call?",
		"timeout tool_call soon": "want a duration",
		"timeout tool_call 11m":  "at most 10m",
		"requier tool_call":      "did you mean require?",
		"prompt tool_call":       "unknown verb",
	} {
		if err := c.Hooks().Command(ctx(t), line); !errors.Is(err, fs.Invalid) || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c = l.office(rt, "demo")
	text, err := c.Hooks().Status()
	if err != nil || !strings.Contains(string(text), "tool_call require timeout 7s only bash,write listeners 0 failed 0\n") {
		t.Fatalf("after a restart:\n%s%v", text, err)
	}
	// A policy that cannot be read does not let things pass.
	if err := os.WriteFile(filepath.Join(c.State, "hooks.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, prompt(t, session(t, c, "main"), "$ echo went on").Answer); err == nil || strings.Contains(got, "went on") {
		t.Errorf("with a malformed policy: %q, %v", got, err)
	}
}
