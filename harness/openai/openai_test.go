package openai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/harness/openai"
	"mikan/harness/protocol"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var model = harness.Model{Provider: "lab", ID: "test", API: openai.API,
	Window: 100_000, MaxTokens: 8000, Input: []string{"text", "image"}, Reasons: true}

func user(text string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}
}

// send makes one call and returns the answer and the request.
func send(t *testing.T, compat openai.Compat, turn modeltest.Turn, req harness.Request) (wire.Message, map[string]any, error) {
	t.Helper()
	s := modeltest.NewOpenAI(t, turn)
	client := protocol.NewClient()
	t.Cleanup(client.CloseIdleConnections)
	p := openai.New(openai.Options{BaseURL: s.URL, Headers: map[string]string{"X-Team": "bots"}, Compat: compat, Client: client})
	m, err := p.Stream(t.Context(), req, func(harness.Delta) {})
	if refused := s.Refusals(); len(refused) > 0 {
		t.Fatalf("refused: %q", refused)
	}
	r := s.Requests()[0]
	if r.Header.Get("X-Team") != "bots" || r.Header.Get("Authorization") != "" {
		t.Errorf("header %v", r.Header)
	}
	var b map[string]any
	if err := json.Unmarshal(r.Body, &b); err != nil {
		t.Fatal(err)
	}
	return m, b, err
}

func TestStream_sends_an_unknown_server_only_what_all_take(t *testing.T) {
	req := harness.Request{Model: model, System: "sys", Messages: []wire.Message{user("q")}, Session: strings.Repeat("s", 80), Thinking: "off",
		Tools: []harness.ToolSpec{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}}}
	_, b, err := send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"max_tokens":8000,"messages":[{"content":"sys","role":"system"},{"content":"q","role":"user"}],"model":"test","stream":true,` +
		`"stream_options":{"include_usage":true},"tools":[{"function":{"description":"d","name":"a","parameters":{"type":"object"}},"type":"function"}]}`
	if got, _ := json.Marshal(b); string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	_, b, err = send(t, openai.Own(), modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(b["store"], b["max_completion_tokens"], b["max_tokens"], len(b["prompt_cache_key"].(string))) != "false 8000 <nil> 40" ||
		!strings.Contains(fmt.Sprint(b["tools"]), "strict:false") {
		t.Errorf("%v", b)
	}
	_, b, err = send(t, openai.Compat{NoUsage: true, NoEffort: true, DeveloperRole: true}, modeltest.Turn{Text: "ok"},
		harness.Request{Model: model, System: "sys", Messages: []wire.Message{user("q")}, Thinking: "high"})
	if err != nil || b["stream_options"] != nil || b["reasoning_effort"] != nil || !strings.Contains(fmt.Sprint(b["messages"]), "developer") {
		t.Errorf("%v %v", b, err)
	}
}

func TestStream_asks_for_effort_in_the_model_s_words(t *testing.T) {
	own := map[string]string{"off": "none", "high": "very"}
	for _, c := range []struct {
		level  string
		levels map[string]string
		want   any
	}{
		{"off", nil, nil}, {"", nil, nil}, {"minimal", nil, "minimal"}, {"high", nil, "high"}, {"xhigh", nil, "high"}, {"max", nil, "high"},
		{"off", own, "none"}, {"", own, "none"}, {"high", own, "very"}, {"low", own, "low"},
	} {
		m := model
		m.Levels = c.levels
		_, b, err := send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user("q")}, Thinking: c.level})
		if err != nil || b["reasoning_effort"] != c.want {
			t.Errorf("%q %v: %v %v", c.level, c.levels, b["reasoning_effort"], err)
		}
	}
}

func TestStream_gives_thoughts_and_signatures_back_within_a_turn(t *testing.T) {
	m, _, err := send(t, openai.Compat{}, modeltest.Turn{
		Thinking: "hm", Calls: []modeltest.Call{{ID: "c1", Name: "a", Arguments: `{}`, Signature: "gemini-signature"}},
	}, harness.Request{Model: model, Messages: []wire.Message{user("q")}})
	if err != nil || m.Calls()[0].ThoughtSignature != "gemini-signature" {
		t.Fatal(m, err)
	}
	req := harness.Request{Model: model, Messages: []wire.Message{user("q"), m, {Role: wire.ToolResult, ToolCallID: "c1"}}}
	_, b, err := send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	sent, _ := json.Marshal(b["messages"])
	want := `[{"content":"q","role":"user"},{"reasoning_content":"hm","role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"gemini-signature"}},` +
		`"function":{"arguments":"{}","name":"a"},"id":"c1","type":"function"}]},{"content":"(no output)","role":"tool","tool_call_id":"c1"}]`
	if string(sent) != want {
		t.Errorf("%s\nwant %s", sent, want)
	}
	req.Model.ID = "another"
	_, b, err = send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, req)
	if sent := fmt.Sprint(b["messages"]); err != nil || strings.Contains(sent, "hm") || strings.Contains(sent, "gemini") {
		t.Errorf("another model got %s, %v", sent, err)
	}
}

func TestStream_puts_images_of_results_into_the_user_message_after_them(t *testing.T) {
	image := func(n int) wire.Part {
		return wire.Part{Type: wire.Image, Data: modeltest.PNG(n, n), MimeType: "image/png"}
	}
	call := func(id string) wire.Part {
		return wire.Part{Type: wire.ToolCall, ID: id, Name: "a", Arguments: json.RawMessage(`{}`)}
	}
	_, b, err := send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, harness.Request{Model: model, Messages: []wire.Message{
		user("q"),
		{Role: wire.Assistant, Content: []wire.Part{call("c1"), call("c2")}},
		{Role: wire.ToolResult, ToolCallID: "c1", Content: []wire.Part{image(1)}},
		{Role: wire.ToolResult, ToolCallID: "c2", Content: []wire.Part{wire.TextPart("both"), image(2)}},
		user("and?"),
		{Role: wire.Assistant, Content: []wire.Part{call("c3")}},
		{Role: wire.ToolResult, ToolCallID: "c3", Content: []wire.Part{image(3)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range b["messages"].([]any) {
		m := m.(map[string]any)
		n := 0
		if parts, ok := m["content"].([]any); ok {
			n = len(parts)
		}
		roles = append(roles, fmt.Sprint(m["role"], n))
	}
	if got := fmt.Sprint(roles); got != "[user0 assistant0 tool0 tool0 user5 assistant0 tool0 user2]" {
		t.Error(got)
	}
}

func TestStream_reads_what_servers_do_differently(t *testing.T) {
	chunk := func(choices, more string) string {
		return `data: {"id":"x","choices":[` + choices + `]` + more + "}\n\n"
	}
	for name, c := range map[string]struct {
		stream string
		check  func(m wire.Message, err error) bool
	}{
		"reasoning of OpenRouter": {
			chunk(`{"delta":{"reasoning":"r","reasoning_content":"r"}}`, "") + chunk(`{"delta":{"content":"t"},"finish_reason":"stop"}`, ""),
			func(m wire.Message, err error) bool {
				return err == nil && m.Content[0].Thinking == "r" && m.PlainText() == "t"
			},
		},
		"cache hits of DeepSeek": {
			chunk(`{"delta":{"content":"t"},"finish_reason":"stop"}`, `,"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_cache_hit_tokens":60}`),
			func(m wire.Message, err error) bool {
				return err == nil && *m.Usage == wire.Usage{Input: 40, Output: 7, CacheRead: 60, Total: 107}
			},
		},
		"no usage, no [DONE]": {
			chunk(`{"delta":{"content":"t"},"finish_reason":"stop"}`, ""),
			func(m wire.Message, err error) bool { return err == nil && *m.Usage == wire.Usage{} },
		},
		"null usage and null choices": {
			`data: {"choices":null,"usage":null}` + "\n\n" + chunk(`{"delta":{"content":"t","tool_calls":null},"finish_reason":"stop"}`, `,"usage":null`),
			func(m wire.Message, err error) bool { return err == nil && m.PlainText() == "t" },
		},
		"calls that stop with stop": {
			chunk(`{"delta":{"tool_calls":[{"id":"c","function":{"name":"a","arguments":"{}"}}]}}`, "") + chunk(`{"delta":{},"finish_reason":"stop"}`, ""),
			func(m wire.Message, err error) bool { return err == nil && m.StopReason == wire.StopToolUse },
		},
		"content filter": {
			chunk(`{"delta":{"content":"t"},"finish_reason":"content_filter"}`, ""),
			func(m wire.Message, err error) bool {
				var e *harness.ModelError
				return errors.As(err, &e) && e.Trouble == harness.Refused && m.PlainText() == "t"
			},
		},
		"refusal": {
			chunk(`{"delta":{"refusal":"no"},"finish_reason":"stop"}`, ""),
			func(m wire.Message, err error) bool { return err == nil && m.PlainText() == "no" },
		},
		"CRLF": {
			strings.ReplaceAll(chunk(`{"delta":{"content":"t"},"finish_reason":"stop"}`, ""), "\n", "\r\n"),
			func(m wire.Message, err error) bool { return err == nil && m.PlainText() == "t" },
		},
		"[DONE] without a finish": {
			chunk(`{"delta":{"content":"t"}}`, "") + "data: [DONE]\n\n",
			func(m wire.Message, err error) bool {
				var e *harness.ModelError
				return errors.As(err, &e) && e.Trouble == harness.Transient && m.PlainText() == "t"
			},
		},
	} {
		m, _, err := send(t, openai.Compat{}, modeltest.Turn{Stream: c.stream}, harness.Request{Model: model, Messages: []wire.Message{user("q")}})
		if !c.check(m, err) {
			t.Errorf("%s: %+v %+v %v", name, m, m.Usage, err)
		}
	}
}

func TestFault_C5_the_longest_answer_fits_a_small_window(t *testing.T) {
	m := model
	m.Window, m.MaxTokens = 8192, 8192
	_, b, err := send(t, openai.Compat{}, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user(strings.Repeat("word ", 2000))}})
	if got := b["max_tokens"].(float64); err != nil || got > 5000 || got < 1024 {
		t.Errorf("max_tokens %v, %v", got, err)
	}
}
