package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/modeltest"
	"mikan/harness/protocol"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var model = harness.Model{Provider: "anthropic", ID: "claude-test", API: anthropic.API,
	Window: 200_000, MaxTokens: 64_000, Input: []string{"text", "image"}, Reasons: true}

func user(text string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}
}

// body is what a test looks at in a request.
type body struct {
	MaxTokens int `json:"max_tokens"`
	Thinking  *struct {
		Type    string
		Budget  int `json:"budget_tokens"`
		Display string
	}
	Output struct{ Effort string } `json:"output_config"`
	System []map[string]any
	Tools  []map[string]any
	// Messages are kept raw, since their bytes are what counts.
	Messages []struct {
		Role    string
		Content []map[string]any
	}
}

// send makes one call and returns the answer and the request.
func send(t *testing.T, turn modeltest.Turn, req harness.Request) (wire.Message, body, error) {
	t.Helper()
	s := modeltest.NewAnthropic(t, turn)
	s.Terms.Foreign = true
	client := protocol.NewClient()
	t.Cleanup(client.CloseIdleConnections)
	m, err := anthropic.New(anthropic.Options{BaseURL: s.URL + "/v1/", Key: "k", Client: client}).
		Stream(t.Context(), req, func(harness.Delta) {})
	if refused := s.Refusals(); len(refused) > 0 {
		t.Fatalf("refused: %q", refused)
	}
	var b body
	if err := json.Unmarshal(s.Requests()[0].Body, &b); err != nil {
		t.Fatal(err)
	}
	if v := s.Requests()[0].Header.Get("anthropic-version"); v != "2023-06-01" {
		t.Errorf("another's server got the version %q", v)
	}
	return m, b, err
}

func TestStream_marks_at_most_four_places_for_the_cache(t *testing.T) {
	req := harness.Request{Model: model, System: "sys", Tools: []harness.ToolSpec{
		{Name: "a", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "b", Schema: json.RawMessage(`{"type":"object","properties":{"z":{},"a":{}}}`)},
	}}
	for n := range 6 {
		id := fmt.Sprint("c", n)
		req.Messages = append(req.Messages, user("q"),
			wire.Message{Role: wire.Assistant, Content: []wire.Part{{Type: wire.ToolCall, ID: id, Name: "a", Arguments: json.RawMessage(`{"z":1,"a":2}`)}}},
			wire.Message{Role: wire.ToolResult, ToolCallID: id, Content: []wire.Part{wire.TextPart("r")}})
	}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for i, m := range b.Messages {
		for j, c := range m.Content {
			if c["cache_control"] != nil {
				marks++
				if i < len(b.Messages)-3 || j != len(m.Content)-1 {
					t.Errorf("a mark in message %d of %d, block %d", i, len(b.Messages), j)
				}
			}
		}
	}
	if marks != 2 || b.System[0]["cache_control"] == nil || b.Tools[1]["cache_control"] == nil || b.Tools[0]["cache_control"] != nil {
		t.Errorf("%d marks in messages; %v %v", marks, b.System, b.Tools)
	}
}

func TestStream_asks_for_thinking_as_the_model_takes_it(t *testing.T) {
	words := map[string]string{"low": "low", "max": "max", "medium": "12345"}
	for _, c := range []struct {
		level  string
		levels map[string]string
		max    int
		want   string
	}{
		{"off", nil, 64000, "nothing"},
		{"", nil, 64000, "nothing"},
		{"low", nil, 64000, "enabled 4096"},
		{"max", nil, 64000, "enabled 62976"},
		{"high", nil, 8000, "enabled 6976"},
		{"high", nil, 1500, "nothing"},
		{"low", words, 64000, "adaptive low summarized"},
		{"max", words, 64000, "adaptive max summarized"},
		{"medium", words, 64000, "enabled 12345"},
	} {
		m := model
		m.Levels, m.MaxTokens = c.levels, c.max
		_, b, err := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user("q")}, Thinking: c.level})
		if err != nil {
			t.Fatal(err)
		}
		got := "nothing"
		switch {
		case b.Thinking != nil && b.Thinking.Type == "enabled":
			got = fmt.Sprint("enabled ", b.Thinking.Budget)
		case b.Thinking != nil:
			got = b.Thinking.Type + " " + b.Output.Effort + " " + b.Thinking.Display
		}
		if got != c.want || b.MaxTokens != c.max {
			t.Errorf("%q %v: %s, max %d", c.level, c.levels, got, b.MaxTokens)
		}
	}
	m := model
	m.Reasons = false
	if _, b, _ := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user("q")}, Thinking: "high"}); b.Thinking != nil {
		t.Error("a model that does not reason was asked to")
	}
}

// toolTurn is a turn in which the model thought, in blocks of every kind, and
// called a tool.
func toolTurn(thoughts ...wire.Part) []wire.Message {
	call := wire.Part{Type: wire.ToolCall, ID: "c1", Name: "a", Arguments: json.RawMessage(`{}`)}
	return []wire.Message{user("q"),
		{Role: wire.Assistant, Provider: "anthropic", Model: "claude-test", Content: append(thoughts, call)},
		{Role: wire.ToolResult, ToolCallID: "c1", Content: []wire.Part{wire.TextPart("r")}}}
}

func TestFault_H9_signed_thinking_goes_back_unchanged_to_the_model_that_made_it_and_to_no_other(t *testing.T) {
	thoughts := []wire.Part{
		{Type: wire.Thinking, Thinking: "  signed  ", ThinkingSignature: "sig+/="},
		{Type: wire.Thinking, ThinkingSignature: "opaque", Redacted: true},
		{Type: wire.Thinking, ThinkingSignature: "omitted-text"},
		{Type: wire.Thinking, Thinking: "broken off, unsigned"},
	}
	req := harness.Request{Model: model, System: "another system prompt", Messages: toolTurn(thoughts...), Thinking: "high"}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(b.Messages[1].Content)
	want := "[map[signature:sig+/= thinking:  signed   type:thinking] map[data:opaque type:redacted_thinking] " +
		"map[signature:omitted-text thinking: type:thinking] map[id:c1 input:map[] name:a type:tool_use]]"
	if got != want || b.Thinking == nil {
		t.Errorf("%s\nwant %s", got, want)
	}

	req.Model.ID = "claude-other"
	_, b, err = send(t, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(b.Messages[1].Content); got != "[map[id:c1 input:map[] name:a type:tool_use]]" {
		t.Errorf("another model got %s", got)
	}
	if b.Thinking != nil { // the API refuses a budget in the middle of such a turn
		t.Errorf("thinking %+v", b.Thinking)
	}
}

func TestStream_reads_redacted_thinking_and_a_refusal(t *testing.T) {
	req := harness.Request{Model: model, Messages: []wire.Message{user("q")}}
	m, _, err := send(t, modeltest.Turn{Redacted: "opaque", Text: "hi"}, req)
	if err != nil || !m.Content[0].Redacted || m.Content[0].ThinkingSignature != "opaque" {
		t.Errorf("%+v %v", m, err)
	}
	m, _, err = send(t, modeltest.Turn{Text: "I", Stop: "refusal"}, req)
	var e *harness.ModelError
	if !errors.As(err, &e) || e.Trouble != harness.Refused || m.PlainText() != "I" || m.StopReason != wire.StopError {
		t.Errorf("%+v %v", m, err)
	}
	m, _, err = send(t, modeltest.Turn{Text: "I", Stop: "model_context_window_exceeded"}, req)
	if err != nil || m.StopReason != wire.StopLength {
		t.Errorf("%+v %v", m, err)
	}
	m, _, err = send(t, modeltest.Turn{}, req)
	if err != nil || m.StopReason != wire.StopEnd || len(m.Content) != 0 {
		t.Errorf("%+v %v", m, err)
	}
}

func TestStream_shows_life_while_arguments_come(t *testing.T) {
	s := modeltest.NewAnthropic(t, modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "write", Arguments: strings.Repeat(" ", 500) + "{}"}}})
	s.Split = modeltest.ByteByByte
	client := protocol.NewClient()
	t.Cleanup(client.CloseIdleConnections)
	n := 0
	_, err := anthropic.New(anthropic.Options{BaseURL: s.URL, Client: client}).
		Stream(context.Background(), harness.Request{Model: model, Messages: []wire.Message{user("q")}}, func(d harness.Delta) { n++ })
	if err != nil || n < 500 {
		t.Errorf("%d signs of life, %v", n, err)
	}
}

func TestFault_H9_thinking_that_the_server_disowns_is_left_out_and_the_session_goes_on(t *testing.T) {
	s := modeltest.NewAnthropic(t,
		modeltest.Turn{Thinking: "own", Signature: "own-sig", Text: "one"},
		modeltest.Turn{Text: "two"})
	client := protocol.NewClient()
	t.Cleanup(client.CloseIdleConnections)
	p := anthropic.New(anthropic.Options{BaseURL: s.URL, Key: "k", Client: client})
	history := toolTurn(wire.Part{Type: wire.Thinking, Thinking: "of another server", ThinkingSignature: "foreign-sig"},
		wire.Part{Type: wire.Thinking, ThinkingSignature: "foreign-data", Redacted: true})
	for n, want := range []string{"one", "two"} {
		m, err := p.Stream(t.Context(), harness.Request{Model: model, Messages: history, Thinking: "high"}, func(harness.Delta) {})
		if err != nil || m.PlainText() != want {
			t.Fatalf("turn %d: %+v %v", n, m, err)
		}
		history = append(history, m, user("go on"))
	}
	if refused := s.Refusals(); len(refused) != 1 || !strings.Contains(refused[0], "Invalid `signature` in `thinking` block") {
		t.Errorf("refused %q", refused)
	}
	last := string(s.Requests()[2].Body)
	if strings.Contains(last, "foreign") || !strings.Contains(last, "own-sig") {
		t.Errorf("the last request was %s", last)
	}
}
