package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/harness/protocol"
	"mikan/harness/responses"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var model = harness.Model{Provider: "openai", ID: "gpt-test", API: responses.API,
	Window: 100_000, MaxTokens: 8000, Input: []string{"text", "image"}, Reasons: true}

func user(text string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}
}

func result(id string, parts ...wire.Part) wire.Message {
	return wire.Message{Role: wire.ToolResult, ToolCallID: id, Content: parts}
}

// connect returns a provider of a server.
func connect(t *testing.T, s *modeltest.Server) *responses.Provider {
	t.Helper()
	client := protocol.NewClient()
	t.Cleanup(client.CloseIdleConnections)
	return responses.New(responses.Options{BaseURL: s.URL, Headers: map[string]string{"X-Team": "bots"}, Client: client})
}

// send makes one call and returns the answer and the request.
func send(t *testing.T, turn modeltest.Turn, req harness.Request) (wire.Message, map[string]any, error) {
	t.Helper()
	s := modeltest.NewResponses(t, turn)
	m, err := connect(t, s).Stream(t.Context(), req, func(harness.Delta) {})
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

// input is what was sent of a history, in a few words.
func input(t *testing.T, body map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(body["input"])
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestStream_leaves_nothing_with_the_server_and_asks_for_encrypted_reasoning(t *testing.T) {
	req := harness.Request{Model: model, System: "sys", Messages: []wire.Message{user("q")}, Session: strings.Repeat("s", 80), Thinking: "high",
		Tools: []harness.ToolSpec{{Name: "a", Description: "d", Schema: json.RawMessage(`{"type":"object"}`)}}}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := b["prompt_cache_key"].(string)
	if len(key) != 64 || !strings.HasPrefix(key, "sss") {
		t.Errorf("prompt_cache_key %q", key)
	}
	delete(b, "prompt_cache_key")
	want := `{"include":["reasoning.encrypted_content"],"input":[{"content":[{"text":"q","type":"input_text"}],"role":"user"}],"instructions":"sys",` +
		`"max_output_tokens":8000,"model":"gpt-test","reasoning":{"effort":"high","summary":"auto"},"store":false,"stream":true,` +
		`"tools":[{"description":"d","name":"a","parameters":{"type":"object"},"strict":false,"type":"function"}]}`
	if got, _ := json.Marshal(b); string(got) != want {
		t.Error(cmp.Diff(want, string(got)))
	}
	req.Model.Reasons = false
	if _, b, err = send(t, modeltest.Turn{Text: "ok"}, req); err != nil || b["include"] != nil || b["reasoning"] != nil {
		t.Errorf("a model that does not reason was asked to: %v %v", b, err)
	}
}

func TestStream_asks_for_effort_in_the_model_s_words(t *testing.T) {
	own := map[string]string{"off": "none", "high": "very", "max": "max"}
	for _, c := range []struct {
		level  string
		levels map[string]string
		want   string
	}{
		{"off", nil, "<nil>"}, {"", nil, "<nil>"}, {"minimal", nil, "map[effort:minimal summary:auto]"}, {"max", nil, "map[effort:high summary:auto]"},
		{"off", own, "map[effort:none]"}, {"high", own, "map[effort:very summary:auto]"}, {"max", own, "map[effort:max summary:auto]"},
	} {
		m := model
		m.Levels = c.levels
		_, b, err := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user("q")}, Thinking: c.level})
		if got := fmt.Sprint(b["reasoning"]); err != nil || got != c.want {
			t.Errorf("%q %v: %v %v", c.level, c.levels, got, err)
		}
	}
}

// thought is an answer that thinks, says something and calls twice.
var thought = modeltest.Turn{Thinking: "a summary", Signature: "encrypted+/=", Text: "I look.", Calls: []modeltest.Call{
	{ID: "call_1", Name: "a", Arguments: `{"n":1}`}, {ID: "call_2", Name: "a", Arguments: `{"n":2}`}}}

func TestFault_H9_reasoning_goes_back_as_it_came_to_the_model_that_made_it_and_to_no_other(t *testing.T) {
	s := modeltest.NewResponses(t, thought, modeltest.Turn{Text: "ok"}, modeltest.Turn{Text: "ok"}, modeltest.Turn{Text: "ok"})
	p := connect(t, s)
	req := harness.Request{Model: model, System: "one", Messages: []wire.Message{user("q")}, Thinking: "high"}
	m, err := p.Stream(t.Context(), req, func(harness.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	stored, err := json.Marshal(m) // as a transcript keeps it
	if err != nil {
		t.Fatal(err)
	}
	m = wire.Message{}
	if err := json.Unmarshal(stored, &m); err != nil {
		t.Fatal(err)
	}
	req.System = "another system prompt"
	req.Messages = append(req.Messages, m, result("call_1", wire.TextPart("r1")), result("call_2", wire.TextPart("r2")))
	ask := func(model harness.Model) string {
		t.Helper()
		req.Model = model
		if _, err := p.Stream(t.Context(), req, func(harness.Delta) {}); err != nil {
			t.Fatal(err, s.Refusals())
		}
		var b map[string]any
		requests := s.Requests()
		if err := json.Unmarshal(requests[len(requests)-1].Body, &b); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(input(t, b), strings.Repeat("0", 47), "")
	}
	results := `,{"call_id":"call_1","output":"r1","type":"function_call_output"},{"call_id":"call_2","output":"r2","type":"function_call_output"}]`
	question := `[{"content":[{"text":"q","type":"input_text"}],"role":"user"},`
	want := question + `{"encrypted_content":"encrypted+/=","id":"rs_1","summary":[{"text":"a summary","type":"summary_text"}],"type":"reasoning"},` +
		`{"content":[{"annotations":[],"text":"I look.","type":"output_text"}],"id":"msg_2","role":"assistant","status":"completed","type":"message"},` +
		`{"arguments":"{\"n\":1}","call_id":"call_1","id":"fc_3","name":"a","type":"function_call"},` +
		`{"arguments":"{\"n\":2}","call_id":"call_2","id":"fc_4","name":"a","type":"function_call"}` + results
	if got := ask(model); got != want {
		t.Error(cmp.Diff(want, got))
	}
	bare := question + `{"content":"I look.","role":"assistant"},` +
		`{"arguments":"{\"n\":1}","call_id":"call_1","name":"a","type":"function_call"},` +
		`{"arguments":"{\"n\":2}","call_id":"call_2","name":"a","type":"function_call"}` + results
	other, elsewhere := model, model
	other.ID, elsewhere.Provider = "gpt-other", "azure"
	for _, m := range []harness.Model{other, elsewhere} {
		if got := ask(m); got != bare {
			t.Errorf("%s: %s", m, cmp.Diff(bare, got))
		}
	}
}

func TestFault_H9_an_answer_that_broke_off_goes_back_without_its_reasoning(t *testing.T) {
	broken := thought
	broken.Error = `{"type":"error","code":"server_error","message":"oops","param":null}`
	s := modeltest.NewResponses(t, broken, modeltest.Turn{Text: "ok"}, modeltest.Turn{Thinking: "not encrypted", Text: "said"}, modeltest.Turn{Text: "ok"})
	p := connect(t, s)
	history := []wire.Message{user("q")}
	for _, fails := range []bool{true, false} {
		m, err := p.Stream(t.Context(), harness.Request{Model: model, Messages: history}, func(harness.Delta) {})
		if (err != nil) != fails || m.Content[0].Thinking == "" {
			t.Errorf("%v %+v", err, m)
		}
		for _, part := range m.Content {
			if part.ThinkingSignature+part.TextSignature+part.ThoughtSignature != "" {
				t.Errorf("signed: %+v", part)
			}
		}
		history = append(history, m, user("go on"))
		if _, err := p.Stream(t.Context(), harness.Request{Model: model, Messages: history}, func(harness.Delta) {}); err != nil {
			t.Errorf("%v; refused %q", err, s.Refusals())
		}
	}
}

func TestFault_H9_what_damaged_reasoning_led_to_goes_back_without_its_ids(t *testing.T) {
	s := modeltest.NewResponses(t, thought)
	p := connect(t, s)
	req := harness.Request{Model: model, Messages: []wire.Message{user("q")}}
	m, err := p.Stream(t.Context(), req, func(harness.Delta) {})
	if err != nil {
		t.Fatal(err)
	}
	for _, signature := range []string{"damaged", `{"type":"reasoning","id":"rs_0","summary":[]}`, `{"type":"reasoning","id":"x","summary":[],"encrypted_content":"e"}`} {
		m.Content[0].ThinkingSignature = signature
		s.Then(modeltest.Turn{Text: "ok"})
		req.Messages = []wire.Message{user("q"), m, result("call_1"), result("call_2")}
		if _, err := p.Stream(t.Context(), req, func(harness.Delta) {}); err != nil {
			t.Errorf("%q: %v", signature, err)
		}
	}
}

func TestFault_H5_ids_of_old_transcripts_are_taken(t *testing.T) {
	const old = "call_kV9Yd1n3y8Z|fc_0123456789abcdef0123456789abcdef0123456789abcdef01"
	said := wire.TextPart("I look.")
	said.TextSignature = "msg_old"
	req := harness.Request{Model: model, Messages: []wire.Message{user("q"),
		{Role: wire.Assistant, API: model.API, Provider: model.Provider, Model: model.ID, Content: []wire.Part{
			{Type: wire.Thinking, ThinkingSignature: `{"id":"rs_old","type":"reasoning","summary":[],"encrypted_content":"e"}`}, said,
			{Type: wire.ToolCall, ID: old, Name: "a", Arguments: json.RawMessage(`{}`)}}},
		result(old, wire.TextPart("r"))}}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"id":"rs_old"`, `"id":"msg_old"`} {
		if !strings.Contains(input(t, b), want) {
			t.Errorf("%s is not in %s", want, input(t, b))
		}
	}
}

func TestStream_puts_images_into_prompts_and_results(t *testing.T) {
	picture := wire.Part{Type: wire.Image, Data: modeltest.PNG(2, 2), MimeType: "image/png"}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: model, Messages: []wire.Message{
		{Role: wire.User, Content: []wire.Part{picture, wire.TextPart("see")}},
		{Role: wire.Assistant, Content: []wire.Part{{Type: wire.ToolCall, ID: "c", Name: "a", Arguments: json.RawMessage(`{}`)}}},
		result("c", wire.TextPart("here"), picture),
	}})
	if err != nil {
		t.Fatal(err)
	}
	url := "data:image/png;base64," + picture.Data
	want := `[{"content":[{"detail":"auto","image_url":"` + url + `","type":"input_image"},{"text":"see","type":"input_text"}],"role":"user"},` +
		`{"arguments":"{}","call_id":"c","name":"a","type":"function_call"},` +
		`{"call_id":"c","output":[{"text":"here","type":"input_text"},{"detail":"auto","image_url":"` + url + `","type":"input_image"}],"type":"function_call_output"}]`
	if got := input(t, b); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestStream_does_without_what_the_server_will_not_give(t *testing.T) {
	for _, refusal := range []string{
		`{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`,
		`{"error":{"message":"The encrypted content gAAA could not be verified. Reason: Encrypted content could not be decrypted or parsed.","code":"invalid_encrypted_content"}}`,
	} {
		s := modeltest.NewResponses(t, thought, modeltest.Turn{Status: 400, Body: refusal}, modeltest.Turn{Text: "ok"}, modeltest.Turn{Text: "ok"})
		p := connect(t, s)
		req := harness.Request{Model: model, Messages: []wire.Message{user("q")}, Thinking: "low"}
		m, err := p.Stream(t.Context(), req, func(harness.Delta) {})
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, m, result("call_1"), result("call_2"))
		for range 2 { // the second time it is known
			if m, err := p.Stream(t.Context(), req, func(harness.Delta) {}); err != nil || m.PlainText() != "ok" {
				t.Fatalf("%+v %v; refused %q", m, err, s.Refusals())
			}
		}
		if n := len(s.Requests()); n != 4 {
			t.Errorf("%d requests", n)
		}
	}
	// What is refused again is an error.
	s := modeltest.NewResponses(t, modeltest.Turn{Status: 400, Body: "no reasoning summaries"}, modeltest.Turn{Status: 400, Body: "no reasoning summaries"})
	var e *harness.ModelError
	if _, err := connect(t, s).Stream(t.Context(), harness.Request{Model: model, Messages: []wire.Message{user("q")}}, func(harness.Delta) {}); !errors.As(err, &e) || e.Trouble != harness.Refused {
		t.Error(err)
	}
}

// event is one of a stream.
func event(kind, rest string) string { return `data: {"type":"` + kind + `"` + rest + "}\n\n" }

func TestStream_reads_every_end(t *testing.T) {
	said := event("response.output_item.added", `,"output_index":0,"item":{"type":"message","id":"msg_1"}`) + event("response.output_text.delta", `,"output_index":0,"delta":"t"`)
	for name, c := range map[string]struct {
		stream  string
		trouble harness.Trouble // if stop is an error
		stop    string
	}{
		"completed":         {said + event("response.completed", `,"response":{"id":"r"}`), 0, wire.StopEnd},
		"length":            {said + event("response.incomplete", `,"response":{"incomplete_details":{"reason":"max_output_tokens"}}`), 0, wire.StopLength},
		"content filter":    {said + event("response.incomplete", `,"response":{"incomplete_details":{"reason":"content_filter"}}`), harness.Refused, wire.StopError},
		"server error":      {said + event("response.failed", `,"response":{"error":{"code":"server_error","message":"m"}}`), harness.Transient, wire.StopError},
		"no error":          {said + event("response.failed", `,"response":{"error":null}`), harness.Transient, wire.StopError},
		"rate limit":        {said + event("response.failed", `,"response":{"error":{"code":"rate_limit_exceeded","message":"m"}}`), harness.RateLimit, wire.StopError},
		"invalid prompt":    {said + event("response.failed", `,"response":{"error":{"code":"invalid_prompt","message":"m"}}`), harness.Refused, wire.StopError},
		"no quota":          {said + event("response.failed", `,"response":{"error":{"code":"insufficient_quota","message":"m"}}`), harness.Denied, wire.StopError},
		"overflow":          {said + event("response.failed", `,"response":{"error":{"code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`), harness.Overflow, wire.StopError},
		"error event":       {said + event("error", `,"code":"server_is_overloaded","message":"m","param":null`), harness.RateLimit, wire.StopError},
		"error in an error": {said + event("error", `,"error":{"type":"invalid_request_error","message":"m"}`), harness.Refused, wire.StopError},
		"nothing more":      {said, harness.Transient, wire.StopError},
		"[DONE]":            {said + "data: [DONE]\n\n", harness.Transient, wire.StopError},
		"text at the end only": {event("response.output_item.done", `,"output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"t"}]}`) +
			event("response.completed", `,"response":{}`), 0, wire.StopEnd},
		"refusal": {event("response.refusal.delta", `,"output_index":0,"delta":"t"`) + event("response.completed", `,"response":{}`), 0, wire.StopEnd},
	} {
		m, _, err := send(t, modeltest.Turn{Stream: c.stream}, harness.Request{Model: model, Messages: []wire.Message{user("q")}})
		var e *harness.ModelError
		if m.StopReason != c.stop || m.PlainText() != "t" || (c.stop == wire.StopError) != errors.As(err, &e) || e != nil && e.Trouble != c.trouble {
			t.Errorf("%s: %+v %#v", name, m, err)
		}
	}
}

func TestStream_keeps_the_phase_of_what_the_model_says(t *testing.T) {
	stream := event("response.output_item.done", `,"output_index":0,"item":{"type":"message","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"t"}]}`) +
		event("response.completed", `,"response":{}`)
	m, _, err := send(t, modeltest.Turn{Stream: stream}, harness.Request{Model: model, Messages: []wire.Message{user("q")}})
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: model, Messages: []wire.Message{user("q"), m, user("and?")}})
	if err != nil || !strings.Contains(input(t, b), `"phase":"commentary"`) {
		t.Errorf("%s %v", input(t, b), err)
	}
}

func TestStream_separates_the_parts_of_a_summary(t *testing.T) {
	part := event("response.reasoning_summary_part.added", `,"output_index":0`)
	delta := event("response.reasoning_summary_text.delta", `,"output_index":0,"delta":"one"`)
	m, _, err := send(t, modeltest.Turn{Stream: part + delta + part + delta + event("response.completed", `,"response":{}`)},
		harness.Request{Model: model, Messages: []wire.Message{user("q")}})
	if err != nil || m.Content[0].Thinking != "one\n\none" {
		t.Errorf("%+v %v", m, err)
	}
}

func TestFault_C5_the_longest_answer_fits_a_small_window(t *testing.T) {
	m := model
	m.Window, m.MaxTokens = 8192, 8192
	_, b, err := send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user(strings.Repeat("word ", 2000))}})
	if got := b["max_output_tokens"].(float64); err != nil || got > 5000 || got < 1024 {
		t.Errorf("max_output_tokens %v, %v", got, err)
	}
	m.MaxTokens = 1
	if _, b, err = send(t, modeltest.Turn{Text: "ok"}, harness.Request{Model: m, Messages: []wire.Message{user("q")}}); err != nil || b["max_output_tokens"] != 16.0 {
		t.Errorf("%v %v", b, err)
	}
}
