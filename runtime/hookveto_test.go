package runtime_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
	"mikan/fs/serve"
	"mikan/runtime/store"
	"mikan/wire"
)

// What is asked about cannot make the question too long to be put.
func TestHook_no_text_slips_past_a_veto(t *testing.T) {
	rt, s := hookLab(t)
	deny := func(context.Context, *serve.Request) serve.Answer { return serve.Deny("never") }
	listen(t, rt, wire.HookCall, deny)
	for _, text := range []string{strings.Repeat("<", 200), strings.Repeat("&", 390), strings.Repeat("\"", 399), strings.Repeat("é", 2000), strings.Repeat("x", 1<<20)} {
		if got := answer(t, s, "$ echo went on # "+text); strings.Contains(got, "went on\n") || !strings.Contains(got, "refused: never") {
			t.Errorf("%.10s…: %.200q", text, got)
		}
	}
	listen(t, rt, wire.HookStart, deny)
	if _, err := read(t, prompt(t, s, strings.Repeat("<", 200)).Answer); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("a prompt: %v", err)
	}
}

// A question that is withdrawn is not one that was allowed: what it was about
// does not happen.
func TestHook_withdrawn_is_not_allowed(t *testing.T) {
	rt, s := hookLab(t)
	asked := make(chan struct{})
	listen(t, rt, wire.HookResult, func(ctx context.Context, _ *serve.Request) serve.Answer {
		close(asked)
		<-ctx.Done()
		return serve.Answer{}
	})
	policyOf(t, rt, "timeout tool_result 10m")
	a := prompt(t, s, "$ echo secret")
	<-asked
	s.Stop()
	if got, _ := read(t, a.Answer); strings.Contains(got, "secret\n") {
		t.Errorf("answer %q", got)
	}
	if text := transcriptOf(t, s); strings.Contains(text, `"text":"secret`) {
		t.Errorf("the result came past the hook:\n%s", text)
	}
}

func TestHook_interrupted_start_leaves_the_prompt_queued(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	asked := make(chan struct{})
	listen(t, rt, wire.HookStart, func(ctx context.Context, _ *serve.Request) serve.Answer {
		close(asked)
		<-ctx.Done()
		return serve.Answer{}
	})
	policyOf(t, rt, "timeout before_agent_start 10m")
	prompt(t, s, "$ echo ran >ran")
	<-asked
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c = l.office(rt, "demo")
	if err := session(t, c, "main").Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(got) != "ran\n" {
		t.Fatalf("it ran %q, %v", got, err)
	}
}

// Until a hook has seen a tool's output, nobody has.
func TestHook_holds_progress_back(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookResult, func(ctx context.Context, r *serve.Request) serve.Answer {
		data, err := r.Content(ctx)
		if err != nil {
			t.Error(err)
		}
		return serve.Replace(json.RawMessage(strings.ReplaceAll(string(data), "canary", "[redacted]")))
	})
	h, err := s.Feed().Open(ctx(t), &fs.Identity{}, fs.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	answer(t, s, "$ cat word") // makes nothing, and begins the session
	if err := os.WriteFile(filepath.Join(officeDir(t, rt), "word"), []byte("canary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, "$ cat word; sleep 0.3; cat word"); got != "[redacted]\n[redacted]\n" {
		t.Errorf("answer %q", got)
	}
	buf := make([]byte, 1<<20)
	n, err := h.(fs.Reader).Read(ctx(t), buf, 0)
	if err != nil || strings.Contains(string(buf[:n]), "canary") {
		t.Errorf("the feed told of it: %v\n%s", err, buf[:n])
	}
}

// Who must answer and has not is not made up for by another who has.
func TestHook_require_counts_every_listener(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookCall, func(ctx context.Context, _ *serve.Request) serve.Answer { <-ctx.Done(); return serve.Answer{} })
	listen(t, rt, wire.HookCall, func(context.Context, *serve.Request) serve.Answer { return serve.Allow() })
	policyOf(t, rt, "require tool_call", "timeout tool_call 200ms")
	for range 3 {
		if got := answer(t, s, "$ echo went on"); strings.Contains(got, "went on\n") {
			t.Fatalf("it ran: %q", got)
		}
	}
}

// A mute listener does not take the time of the one behind it.
func TestHook_mute_listener_leaves_time_for_a_veto(t *testing.T) {
	rt, s := hookLab(t)
	listen(t, rt, wire.HookCall, func(ctx context.Context, _ *serve.Request) serve.Answer { <-ctx.Done(); return serve.Answer{} })
	listen(t, rt, wire.HookCall, func(context.Context, *serve.Request) serve.Answer { return serve.Deny("no") })
	policyOf(t, rt, "timeout tool_call 400ms")
	if got := answer(t, s, "$ echo went on"); strings.Contains(got, "went on\n") || !strings.Contains(got, "refused: no") {
		t.Errorf("%q", got)
	}
}

func TestHook_replacement_must_replace(t *testing.T) {
	for name, a := range map[string]serve.Answer{
		"null":        serve.Replace(json.RawMessage("null")),
		"other field": serve.Replace(map[string]any{"arguments": map[string]string{"command": "true"}}),
		"a list":      serve.Replace([]string{"args"}),
	} {
		rt, s := hookLab(t)
		listen(t, rt, wire.HookCall, func(context.Context, *serve.Request) serve.Answer { return a })
		policyOf(t, rt, "require tool_call")
		if got := answer(t, s, "$ echo went on"); strings.Contains(got, "went on\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
	// What was too long for the line is not replaced by who has read the line only.
	rt, s := hookLab(t)
	listen(t, rt, wire.HookStart, func(context.Context, *serve.Request) serve.Answer {
		return serve.Replace(map[string]string{"prompt": "lost"})
	})
	long := strings.Repeat("words ", 400)
	if got := answer(t, s, long); !strings.Contains(got, "words words") {
		t.Errorf("a long prompt: %.100q", got)
	}
}

func TestHook_sees_what_steers(t *testing.T) {
	rt, s := hookLab(t)
	dir := officeDir(t, rt)
	listen(t, rt, wire.HookStart, func(ctx context.Context, r *serve.Request) serve.Answer {
		data, err := r.Content(ctx)
		if err != nil || strings.Contains(string(data), `"prompt":"forbidden`) {
			return serve.Deny("not today")
		}
		return serve.Allow()
	})
	running := prompt(t, s, "$ mkfifo gate; touch ready; cat gate")
	eventually(t, "the command", exists(filepath.Join(dir, "ready")))
	bad, err := s.Prompt(ctx(t), ann, store.KindSteer, "forbidden words")
	if err != nil {
		t.Fatal(err)
	}
	good, err := s.Prompt(ctx(t), ann, store.KindSteer, "$ echo steered")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), []byte("x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, bad.Answer); err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("the denied one: %v", err)
	}
	for _, a := range []*fs.Stream{running.Answer, good.Answer} {
		if got, err := read(t, a); err != nil || !strings.Contains(got, "steered\n") {
			t.Errorf("%q, %v", got, err)
		}
	}
	if text := transcriptOf(t, s); strings.Contains(text, "forbidden") {
		t.Errorf("the history has it:\n%s", text)
	}
}
