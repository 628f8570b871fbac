package harness

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"mikan/wire"
)

func TestFault_H4_arguments_always_object(t *testing.T) {
	for args, want := range map[string]string{
		`{"path":`:                     "the arguments are not valid JSON; they must be a JSON object",
		`[]`:                           "the arguments are a list; they must be a JSON object",
		`"str"`:                        "the arguments are a string; they must be a JSON object",
		`"{\"path\":\"x\"}"`:           "the arguments are a string; they must be a JSON object",
		`null`:                         "the arguments are null; they must be a JSON object",
		`12`:                           "the arguments are a number; they must be a JSON object",
		`true`:                         "the arguments are a boolean; they must be a JSON object",
		"{\"path\":\"a\x00\"}":         "the arguments are not valid JSON; they must be a JSON object",
		``:                             "the arguments are missing; they must be a JSON object",
		`{"path":"a\u0000b"}`:          "bad arguments: path holds a NUL character",
		`{}`:                           "bad arguments: path is missing",
		`{"path":["a"]}`:               "bad arguments: path cannot be a JSON array",
		`{"path":"a","offset":"many"}`: `bad arguments: "many" is not a number`,
	} {
		b := newBench(Tools(newShell(t), nil), says(call("a", "read", args)), says(text("ok")))
		e := b.Do(context.Background())
		lawful(t, b.all(e))
		lawful(t, b.script.requests[1].Messages)
		r := b.journal.msgs[2]
		if !r.IsError || r.PlainText() != want {
			t.Errorf("%q: %q, want %q", args, r.PlainText(), want)
		}
		if e.Outcome != wire.OK {
			t.Errorf("%q: %+v", args, e)
		}
	}
}

func TestFault_H4_lone_surrogates_and_bad_bytes_are_mended(t *testing.T) {
	for raw, want := range map[string]string{
		`{"z":"\ud83d","n":12345678901234567890}`: `{"n":12345678901234567890,"z":"` + "\uFFFD" + `"}`,
		"{\"z\":\"\xff\",\"a\":1}":                "{\"z\":\"\uFFFD\",\"a\":1}",
		" {\"z\": 1}\n":                           `{"z": 1}`,
	} {
		if got, why := object(json.RawMessage(raw)); why != "" || string(got) != want {
			t.Errorf("%q: %s %s, want %s", raw, got, why, want)
		}
	}
}

func TestFault_H5_ids_are_unique_and_plain(t *testing.T) {
	long := strings.Repeat("x", 100)
	b := newBench([]Tool{echo()},
		says(call("", "echo", "{}"), call("", "echo", "{}"), call("a", "echo", "{}"), call("a", "echo", "{}")),
		says(call("a", "echo", "{}"), call("call_1|item_2", "echo", "{}"), call("héllo", "echo", "{}")),
		says(call(long, "echo", "{}"), call(long, "echo", "{}"), call("b", "no/such tool\x00", "{}"), call("c", "", "{}")),
		says(text("done")))
	b.journal.msgs = []wire.Message{
		{Role: wire.Assistant, Content: []wire.Part{call("b", "echo", "{}")}},
		{Role: wire.ToolResult, ToolCallID: "b", ToolName: "echo", Content: []wire.Part{text("old")}},
	}
	e := b.Do(context.Background())
	lawful(t, b.all(e))
	for _, m := range b.all(e) {
		for _, c := range m.Calls() {
			if plainName(c.Name, "") != c.Name || c.Name == "" {
				t.Errorf("the tool's name %q is in the history", c.Name)
			}
		}
	}
}

func TestFault_H3_half_a_call_at_the_limit_is_not_run(t *testing.T) {
	ran := 0
	tool := echo()
	tool.Run = func(_ context.Context, args json.RawMessage, _ func(string)) (Result, error) {
		ran++
		return textResult(string(args)), nil
	}
	b := newBench([]Tool{tool},
		stops(wire.StopLength, text("I write"), call("a", "echo", `{"n":1}`), call("b", "echo", `{"content":"half a fi`)),
		says(text("smaller then")))
	e := b.Do(context.Background())
	lawful(t, b.all(e))
	if ran != 1 {
		t.Errorf("%d calls ran, want 1", ran)
	}
	cut := b.journal.msgs[3]
	if !cut.IsError || !strings.Contains(cut.PlainText(), "limit of 500 tokens before this call was complete") {
		t.Errorf("%+v", cut)
	}
	if b.journal.msgs[1].StopReason != wire.StopLength || e.Outcome != wire.OK {
		t.Errorf("%+v, %+v", b.journal.msgs[1], e)
	}
}

func TestFault_H3_a_model_that_is_always_cut_off_ends_the_run(t *testing.T) {
	cut := stops(wire.StopLength, call("a", "echo", `{"content":"half`))
	b := newBench([]Tool{echo()}, cut, cut, cut, says(text("never")))
	e := b.Do(context.Background())
	if e.Outcome != wire.Failed || e.Calls != maxCuts || !strings.Contains(e.Err.Error(), "cut off 3 times in a row") {
		t.Errorf("%+v", e)
	}
	lawful(t, b.all(e))
}

func TestEmptyPartsAreNotKeptButSignedReasoningIs(t *testing.T) {
	signed := wire.Part{Type: wire.Thinking, ThinkingSignature: "sig", Redacted: true}
	b := newBench(nil, says(text(""), signed, wire.Part{Type: wire.Thinking}, text("answer \xc3")))
	e := b.Do(context.Background())
	c := e.Final[0].Content
	if len(c) != 2 || c[0].ThinkingSignature != "sig" || c[1].Text != "answer \uFFFD" {
		t.Errorf("%+v", c)
	}
}
