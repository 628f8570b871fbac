package modeltest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/modeltest"
	"mikan/harness/openai"
	"mikan/harness/protocol"
	"mikan/harness/responses"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// canary is the key of all tests; it must not come out anywhere.
const canary = "sk-canary-0123456789"

// api is one protocol with its provider.
type api struct {
	name   string
	server func(testing.TB, ...modeltest.Turn) *modeltest.Server
	dial   func(s *modeltest.Server, c *http.Client) harness.Provider
	model  harness.Model
}

var apis = []api{
	{
		"anthropic", modeltest.NewAnthropic,
		func(s *modeltest.Server, c *http.Client) harness.Provider {
			return anthropic.New(anthropic.Options{BaseURL: s.URL, Key: canary, Client: c})
		},
		harness.Model{Provider: "anthropic", ID: "claude-test", API: anthropic.API, Window: 200_000, MaxTokens: 32_000,
			Input: []string{"text", "image"}, Reasons: true, Price: harness.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	},
	{
		"openai", modeltest.NewOpenAI,
		func(s *modeltest.Server, c *http.Client) harness.Provider {
			return openai.New(openai.Options{BaseURL: s.URL, Key: canary, Client: c})
		},
		harness.Model{Provider: "openai", ID: "gpt-test", API: openai.API, Window: 200_000, MaxTokens: 32_000,
			Input: []string{"text", "image"}, Reasons: true, Price: harness.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	},
	{
		"responses", modeltest.NewResponses,
		func(s *modeltest.Server, c *http.Client) harness.Provider {
			return responses.New(responses.Options{BaseURL: s.URL, Key: canary, Client: c})
		},
		harness.Model{Provider: "openai", ID: "o-test", API: responses.API, Window: 200_000, MaxTokens: 32_000,
			Input: []string{"text", "image"}, Reasons: true, Price: harness.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	},
}

// each runs f for each protocol.
func each(t *testing.T, f func(t *testing.T, a api)) {
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) { f(t, a) })
	}
}

// client returns a client that leaves no connection behind.
func client(t *testing.T) *http.Client {
	c := protocol.NewClient()
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask sends msgs and returns the answer, the text and the thinking that were
// emitted, and the error.
func ask(t *testing.T, a api, s *modeltest.Server, msgs ...wire.Message) (m wire.Message, text, thinking string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req := harness.Request{Model: a.model, System: "You are a test.", Messages: msgs, Tools: specs, Session: "s"}
	m, err = a.dial(s, client(t)).Stream(ctx, req, func(d harness.Delta) {
		if d.Thinking {
			thinking += d.Text
		} else {
			text += d.Text
		}
	})
	return m, text, thinking, err
}

var specs = []harness.ToolSpec{
	{Name: "bash", Description: "Runs a command.", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
	{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)},
}

func user(text string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}
}

func assistant(a api, parts ...wire.Part) wire.Message {
	return wire.Message{Role: wire.Assistant, Content: parts, API: a.model.API, Provider: a.model.Provider, Model: a.model.ID}
}

func callPart(id, name, args string) wire.Part {
	return wire.Part{Type: wire.ToolCall, ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func result(id, text string) wire.Message {
	return wire.Message{Role: wire.ToolResult, ToolCallID: id, Content: []wire.Part{wire.TextPart(text)}}
}

const hostile = "grüße 😀 \"quoted\" \\ back\\slash\n\ttab 日本語 \u2028 end"

func TestStream_gives_text_thinking_calls_and_usage_however_the_stream_is_cut(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for name, split := range modeltest.Splits {
			t.Run(name, func(t *testing.T) {
				args, _ := json.Marshal(map[string]string{"command": hostile})
				s := a.server(t, modeltest.Turn{
					Thinking: "hm, " + hostile, Signature: "c2ln+/==", Text: hostile,
					Calls: []modeltest.Call{
						{ID: "call_a", Name: "bash", Arguments: string(args)},
						{ID: "call_b", Name: "read", Arguments: `{"path":"b"}`},
						{ID: "call_c", Name: "read", Arguments: `{"path":"c"}`},
					},
					Usage: modeltest.Usage{Input: 1000, Output: 200, CacheRead: 5000, CacheWrite: 300},
				})
				s.Split = split
				m, text, thinking, err := ask(t, a, s, user("go"))
				if err != nil {
					t.Fatal(err)
				}
				if text != hostile || thinking != "hm, "+hostile {
					t.Errorf("emitted %q and thinking %q", text, thinking)
				}
				if m.PlainText() != hostile || m.Content[0].Thinking != "hm, "+hostile || m.Content[0].ThinkingSignature == "" {
					t.Errorf("message %+v", m)
				}
				want := []wire.Part{callPart("call_a", "bash", string(args)), callPart("call_b", "read", `{"path":"b"}`), callPart("call_c", "read", `{"path":"c"}`)}
				calls := m.Calls()
				for i := range calls {
					calls[i].ThoughtSignature = "" // the provider's own
				}
				if diff := cmp.Diff(want, calls); diff != "" {
					t.Error(diff)
				}
				if m.StopReason != wire.StopToolUse || m.ResponseID == "" || m.Model != a.model.ID || m.Timestamp == 0 {
					t.Errorf("stop %q id %q", m.StopReason, m.ResponseID)
				}
				u := wire.Usage{Input: 1000, Output: 200, CacheRead: 5000, CacheWrite: 300, Total: 6500}
				a.model.Price.Cost(&u)
				if diff := cmp.Diff(&u, m.Usage); diff != "" || u.Cost.Total == 0 {
					t.Error(diff)
				}
			})
		}
	})
}

func TestStream_sends_a_history_that_the_server_accepts(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		other := wire.Message{Role: wire.Assistant, API: "x", Provider: "other", Model: "m", Content: []wire.Part{
			{Type: wire.Thinking, Thinking: "foreign", ThinkingSignature: "foreign-signature"},
			wire.TextPart("calling"),
			callPart("fc_1|call/2:"+strings.Repeat("x", 80), "bash", `[]`),
		}}
		s := a.server(t, modeltest.Turn{Text: "fine"})
		m, _, _, err := ask(t, a, s,
			assistant(a, wire.TextPart("an answer without a question")),
			result("nobody", "orphan"),
			user(""), user("first"), user("second\x00"),
			other,
			user("a steer between call and result"),
			result(other.Content[2].ID, ""),
			assistant(a, callPart("call_1", "bash", `"str"`), callPart("call_2", "bash", `null`), callPart("call_1", "read", ``)),
			result("call_2", "two"),
			assistant(a, wire.TextPart("   ")),
			assistant(a, wire.TextPart("so")), assistant(a, callPart("call_1", "bash", `{"command":"again"}`)),
			result("call_1", "again"), result("call_1", "twice"),
			user("go on"),
		)
		if err != nil || m.PlainText() != "fine" || len(s.Refusals()) != 0 {
			t.Fatalf("%v; refused %q\n%s", err, s.Refusals(), s.Requests()[0].Body)
		}
		body := string(s.Requests()[0].Body)
		for _, absent := range []string{"foreign", "orphan", "twice", `\u0000`} {
			if strings.Contains(body, absent) {
				t.Errorf("%q was sent", absent)
			}
		}
		for _, present := range []string{"a steer between", "two", "again", "no result"} {
			if !strings.Contains(body, present) {
				t.Errorf("%q was not sent", present)
			}
		}
	})
}

func TestStream_sends_the_same_bytes_for_the_same_history_and_a_longer_one_begins_with_them(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Text: "a"}, modeltest.Turn{Text: "a"}, modeltest.Turn{Text: "b"})
		history := []wire.Message{user("one"), assistant(a, wire.TextPart("1"), callPart("c|1", "bash", `{"command":"x"}`)), result("c|1", "y")}
		for range 2 {
			if _, _, _, err := ask(t, a, s, history...); err != nil {
				t.Fatal(err)
			}
		}
		longer := append(history[:3:3], assistant(a, wire.TextPart("done")), user("two"))
		if _, _, _, err := ask(t, a, s, longer...); err != nil {
			t.Fatal(err)
		}
		r := s.Requests()
		if string(r[0].Body) != string(r[1].Body) {
			t.Errorf("two bodies for one request:\n%s\n%s", r[0].Body, r[1].Body)
		}
		if diff := cmp.Diff(prefix(t, r[0].Body), prefix(t, r[2].Body)[:len(prefix(t, r[0].Body))]); diff != "" {
			t.Error(diff)
		}
	})
}

// prefix is what a server's cache goes by: tools, system prompt and messages, as
// each API calls them, without the marks of the cache.
func prefix(t *testing.T, body []byte) []any {
	t.Helper()
	var r struct {
		Tools, System, Instructions any
		Messages, Input             []any
	}
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	out := slices.Concat([]any{r.Tools, r.System, r.Instructions}, r.Messages, r.Input)
	for _, v := range out {
		unmark(v)
	}
	return out
}

func unmark(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			unmark(e)
		}
	case map[string]any:
		delete(v, "cache_control")
		for _, e := range v {
			unmark(e)
		}
	}
}

func TestStream_sends_images_of_prompts_and_tool_results(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Text: "a cat"}, modeltest.Turn{Text: "blind"})
		picture := wire.Part{Type: wire.Image, Data: modeltest.PNG(3, 2), MimeType: "image/jpeg"} // the type is wrong
		other := wire.Part{Type: wire.Image, Data: modeltest.PNG(5, 4), MimeType: "image/png"}
		history := []wire.Message{
			{Role: wire.User, Content: []wire.Part{picture, wire.TextPart("what is this?")}},
			assistant(a, callPart("c1", "read", `{"path":"x.png"}`), callPart("c2", "read", `{"path":"y.png"}`)),
			{Role: wire.ToolResult, ToolCallID: "c1", Content: []wire.Part{other}}, result("c2", "text"),
		}
		if _, _, _, err := ask(t, a, s, history...); err != nil {
			t.Fatal(err, s.Refusals())
		}
		body := string(s.Requests()[0].Body)
		if !strings.Contains(body, picture.Data) || !strings.Contains(body, other.Data) {
			t.Errorf("an image is missing: %s", body)
		}
		a.model.Input = []string{"text"}
		if _, _, _, err := ask(t, a, s, history...); err != nil {
			t.Fatal(err, s.Refusals())
		}
		if body := string(s.Requests()[1].Body); strings.Contains(body, picture.Data) || !strings.Contains(body, "takes text only") {
			t.Errorf("a model for text got %s", body)
		}
	})
}

func TestFault_H6_bad_images_become_a_line_of_text_and_the_session_goes_on(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		img := func(data string) wire.Part { return wire.Part{Type: wire.Image, Data: data, MimeType: "image/png"} }
		raw, _ := base64.StdEncoding.DecodeString(modeltest.PNG(1, 1))
		big := base64.StdEncoding.EncodeToString(append(raw, make([]byte, 600_000)...)) // a screenshot's size
		msgs := []wire.Message{{Role: wire.User, Content: []wire.Part{
			wire.TextPart("see"), img("no base64!"), img("aGVsbG8="), img(""), img(modeltest.PNG(8001, 1)), img(modeltest.PNG(2, 2)[:40]),
			img(strings.Repeat("A", 6<<20)),
		}}}
		msgs[0].Content = append(msgs[0].Content, img(modeltest.PNG(60, 60)[:100]), img(modeltest.PNG(2001, 1)))
		for range 42 {
			msgs = append(msgs, wire.Message{Role: wire.User, Content: []wire.Part{img(big)}})
		}
		msgs = append(msgs, wire.Message{Role: wire.User, Content: []wire.Part{img(modeltest.PNG(2001, 2))}})
		s := a.server(t, modeltest.Turn{Text: "ok"})
		m, _, _, err := ask(t, a, s, msgs...)
		if err != nil || m.PlainText() != "ok" {
			t.Fatalf("%v %q", err, s.Refusals())
		}
		if n := len(s.Requests()[0].Body); n > 30<<20 || n < 5<<20 {
			t.Errorf("the body has %d bytes", n)
		}
	})
}
