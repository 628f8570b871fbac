package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestARunTurnsUntilTheModelCallsNoTool(t *testing.T) {
	b := newBench([]Tool{echo()},
		says(text("let me see"), call("a", "echo", `{"n":1,"label":"one"}`), call("b", "echo", `{"n":2}`)),
		says(text("done")))
	e := b.Do(context.Background())
	if e.Outcome != wire.OK || e.Err != nil || e.Calls != 2 {
		t.Fatalf("ending: %+v", e)
	}
	if e.Usage.Total != 24 || e.Usage.Cost.Total != 20 {
		t.Errorf("usage: %+v", e.Usage)
	}
	want := []string{"user: go", "assistant: let me see", `toolResult: {"n":1,"label":"one"}`, `toolResult: {"n":2}`}
	if d := cmp.Diff(want, texts(b.journal.msgs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"assistant: done"}, texts(e.Final)); d != "" {
		t.Error(d)
	}
	if e.Final[0].StopReason != wire.StopEnd || b.journal.msgs[1].StopReason != wire.StopToolUse {
		t.Error("the stop reasons do not say what happened")
	}
	lawful(t, b.all(e))
	if d := cmp.Diff([]wire.Message{b.journal.msgs[0]}, b.script.requests[0].Messages); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(b.journal.msgs, b.script.requests[1].Messages); d != "" {
		t.Error("the model does not see what was committed:", d)
	}
}

func TestEventsComeInOrderAndATurnIsCommittedBeforeItsTools(t *testing.T) {
	var committed atomic.Int32
	tool := echo()
	b := newBench(nil, says(text("x"), call("a", "echo", `{"label":"why"}`)), says(text("y")))
	tool.Run = func(_ context.Context, _ json.RawMessage, progress func(string)) (Result, error) {
		committed.Store(int32(len(b.journal.msgs)))
		progress("half")
		return textResult("whole"), nil
	}
	b.Tools = []Tool{tool}
	b.Do(context.Background())
	if committed.Load() != 2 {
		t.Errorf("%d messages were committed when the tool ran, want 2", committed.Load())
	}
	want := []wire.EventType{
		wire.MessageEnd,
		wire.TurnStart, wire.Delta, wire.MessageEnd, wire.ToolCalled, wire.ToolProgress, wire.ToolReturned, wire.MessageEnd, wire.TurnEnd,
		wire.TurnStart, wire.Delta, wire.TurnEnd,
	}
	if d := cmp.Diff(want, b.types()); d != "" {
		t.Error(d)
	}
	called := b.events[4]
	if called.Name != "echo" || called.Call != "a" || called.Label != "why" || string(called.Args) != `{"label":"why"}` {
		t.Errorf("tool_call: %+v", called)
	}
	if r := b.events[6]; r.Text != "whole" || r.IsError {
		t.Errorf("tool_result: %+v", r)
	}
}

func TestARequestIsCompleteAndItsToolsSorted(t *testing.T) {
	zed, ace := echo(), echo()
	zed.Name, ace.Name = "zed", "ace"
	b := newBench([]Tool{zed, ace}, says(text("ok")))
	b.Do(context.Background())
	if got := b.script.requests[0].Thinking; got != "off" {
		t.Errorf("thinking %q", got)
	}
	if tools := b.script.requests[0].Tools; tools[0].Name != "ace" || tools[1].Name != "zed" {
		t.Errorf("tools: %+v", tools)
	}
}

func TestFault_H8_steer_waits_for_the_results(t *testing.T) {
	asked := 0
	b := newBench([]Tool{echo()},
		says(call("a", "echo", "{}"), call("b", "echo", "{}")),
		says(text("first answer")),
		says(text("second answer")))
	b.Steer = func(context.Context) []wire.Message {
		switch asked++; asked {
		case 1, 2:
			return []wire.Message{user("steer " + string(rune('0'+asked)))}
		}
		return nil
	}
	e := b.Do(context.Background())
	want := []string{"user: go", "assistant: ", "toolResult: {}", "toolResult: {}", "user: steer 1", "assistant: first answer", "user: steer 2", "assistant: second answer"}
	if d := cmp.Diff(want, texts(b.all(e))); d != "" {
		t.Error(d)
	}
	lawful(t, b.all(e))
	if e.Outcome != wire.OK || asked != 3 {
		t.Errorf("outcome %s, asked %d times", e.Outcome, asked)
	}
}

func TestAnUnknownToolNamesTheNearest(t *testing.T) {
	tools := Tools(nil, nil)
	b := newBench(tools, says(call("a", "bsah", "{}")), says(text("ok")))
	e := b.Do(context.Background())
	r := b.journal.msgs[2]
	want := `there is no tool "bsah"; did you mean bash? The tools are: bash, edit, read, write`
	if !r.IsError || r.PlainText() != want {
		t.Errorf("%+v", r)
	}
	lawful(t, b.all(e))
}

func TestAPanicOfAToolIsItsResult(t *testing.T) {
	bad := echo()
	bad.Run = func(context.Context, json.RawMessage, func(string)) (Result, error) { panic("boom") }
	b := newBench([]Tool{bad}, says(call("a", "echo", "{}")), says(text("ok")))
	e := b.Do(context.Background())
	if r := b.journal.msgs[2]; !r.IsError || r.PlainText() != "the tool echo failed inside: boom" {
		t.Errorf("%+v", r)
	}
	if e.Outcome != wire.OK {
		t.Errorf("outcome %s", e.Outcome)
	}
}

func TestAnErrorStandsBehindWhatTheToolGave(t *testing.T) {
	bad := echo()
	bad.Run = func(context.Context, json.RawMessage, func(string)) (Result, error) {
		return Result{Content: []wire.Part{text("partial \xff")}, Details: json.RawMessage("{broken")}, errors.New("no more")
	}
	b := newBench([]Tool{bad}, says(call("a", "echo", "{}")), says(text("ok")))
	b.Do(context.Background())
	r := b.journal.msgs[2]
	if !r.IsError || r.PlainText() != "partial \uFFFD\n\nno more" || r.Details != nil {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

func TestManyCallsRunAtOnceButNotTooMany(t *testing.T) {
	var running, most atomic.Int32
	full := make(chan struct{})
	busy := echo()
	busy.Run = func(_ context.Context, args json.RawMessage, _ func(string)) (Result, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == parallel {
			close(full)
		}
		<-full
		return textResult(string(args)), nil
	}
	var calls []wire.Part
	for i := range 3 * parallel / 2 {
		calls = append(calls, call("x", "echo", fmt.Sprintf(`{"i":%d}`, i)))
	}
	b := newBench([]Tool{busy}, says(calls...), says(text("ok")))
	e := b.Do(context.Background())
	lawful(t, b.all(e))
	if most.Load() != parallel {
		t.Errorf("%d calls ran at once, want %d", most.Load(), parallel)
	}
}

func TestAStoreThatFailsEndsTheRun(t *testing.T) {
	full := errors.New("no space left on device")
	for after := range 4 {
		b := newBench([]Tool{echo()}, says(call("a", "echo", "{}")), says(text("answer")))
		asked := false
		b.Steer = func(context.Context) []wire.Message {
			if asked {
				return nil
			}
			asked = true
			return []wire.Message{user("more")}
		}
		b.journal.refuse, b.journal.after = full, after
		e := b.Do(context.Background())
		if e.Outcome != wire.Failed || !errors.Is(e.Err, full) {
			t.Errorf("after %d appends: %+v", after, e)
		}
		lawful(t, b.all(e))
	}
}

func TestAnEmptyReplyIsNotSentBack(t *testing.T) {
	asked := false
	b := newBench(nil, says(text(" \n")), says(text("ok")))
	b.Steer = func(context.Context) []wire.Message {
		if asked {
			return nil
		}
		asked = true
		return []wire.Message{user("still there?")}
	}
	e := b.Do(context.Background())
	if d := cmp.Diff([]string{"user: go", "user: still there?"}, texts(b.script.requests[1].Messages)); d != "" {
		t.Error(d)
	}
	if e.Outcome != wire.OK {
		t.Errorf("outcome %s", e.Outcome)
	}
}

func TestAFullWindowSaysWhatToDo(t *testing.T) {
	b := newBench(nil, says(text("never")))
	b.Model.Window = 1000
	b.Prompt = user(strings.Repeat("word ", 1000))
	e := b.Do(context.Background())
	const want = "the newest message alone does not fit the model's window of 1000 tokens; send less at once, or choose a model with a larger window"
	if e.Outcome != wire.Failed || e.Err.Error() != want || e.Calls != 0 {
		t.Errorf("%+v", e)
	}
}

func TestTheContextIsReadOnceAndRepaired(t *testing.T) {
	b := newBench(nil, says(text("ok")))
	b.journal.msgs = []wire.Message{
		user("old"),
		{Role: wire.Assistant, Content: []wire.Part{call("a", "echo", "[]")}},
	}
	b.Do(context.Background())
	lawful(t, b.script.requests[0].Messages)
	if n := len(b.script.requests[0].Messages); n != 4 {
		t.Errorf("%d messages", n)
	}
}
