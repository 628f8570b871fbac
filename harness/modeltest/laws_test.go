package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// signatures of thinking: of none of the protocols, and of Responses, good and bad.
var signatures = []string{"", "sig",
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`,
	`{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"e"}`,
	`{"type":"reasoning","id":"rs_3","summary":[],"encrypted_content":null}`,
	`{"type":"reasoning","id":"","encrypted_content":"e"}`,
}

// anyMessage is a message as a damaged or foreign history may hold it.
func anyMessage(a api) *rapid.Generator[wire.Message] {
	id := rapid.SampledFrom([]string{"", "a", "b", "c", "x|y", "x_y", "a very long id that no server takes, 64 and more characters of it"})
	text := rapid.SampledFrom([]string{"", " ", "hello", "a\x00b", "\xff", "日本"})
	part := rapid.Custom(func(t *rapid.T) wire.Part {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return wire.Part{Type: wire.Thinking, Thinking: text.Draw(t, "thinking"), ThinkingSignature: rapid.SampledFrom(signatures).Draw(t, "signature"), Redacted: rapid.Bool().Draw(t, "redacted")}
		case 1:
			return wire.Part{Type: wire.Image, MimeType: "image/png", Data: rapid.SampledFrom([]string{"", "xx", modeltest.PNG(1, 1), modeltest.PNG(60, 60)[:100], modeltest.PNG(8001, 1)}).Draw(t, "image")}
		case 2:
			return wire.Part{Type: "unknown", Text: "?"}
		}
		p := wire.TextPart(text.Draw(t, "text"))
		p.TextSignature = rapid.SampledFrom([]string{"", "msg_1", `{"v":1,"id":"msg_1","phase":"commentary"}`, `{"id":"x"}`, "{"}).Draw(t, "message")
		return p
	})
	call := rapid.Custom(func(t *rapid.T) wire.Part {
		args := rapid.SampledFrom([]string{"", "{}", `{"a":1}`, "[]", "null", `"s"`, `{"a":`}).Draw(t, "args")
		return wire.Part{Type: wire.ToolCall, ID: id.Draw(t, "id"), Name: rapid.SampledFrom([]string{"bash", "read", "", "no such"}).Draw(t, "name"), Arguments: json.RawMessage(args),
			ThoughtSignature: rapid.SampledFrom([]string{"", "fc_1", "fc_2", "fc|3", "x"}).Draw(t, "item")}
	})
	return rapid.Custom(func(t *rapid.T) wire.Message {
		m := wire.Message{
			Role:    rapid.SampledFrom([]string{wire.User, wire.Assistant, wire.Assistant, wire.ToolResult, wire.ToolResult}).Draw(t, "role"),
			Content: rapid.SliceOfN(part, 0, 3).Draw(t, "content"),
		}
		switch m.Role {
		case wire.Assistant:
			m.Content = append(m.Content, rapid.SliceOfN(call, 0, 3).Draw(t, "calls")...)
			m.Provider, m.API = a.model.Provider, a.model.API
			m.Model = rapid.SampledFrom([]string{a.model.ID, "another"}).Draw(t, "model")
		case wire.ToolResult:
			m.ToolCallID = id.Draw(t, "of")
			m.IsError = rapid.Bool().Draw(t, "error")
		}
		return m
	})
}

// Whatever a history holds, what is sent of it breaks no rule of the server's.
func TestLaw_no_history_is_refused(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t)
		s.Terms.Foreign = true // what no server can know is another test's
		provider := a.dial(s, client(t))
		rapid.Check(t, func(rt *rapid.T) {
			history := append(rapid.SliceOfN(anyMessage(a), 0, 12).Draw(rt, "history"), user("go"))
			level := rapid.SampledFrom([]string{"off", "low", "max"}).Draw(rt, "level")
			s.Then(modeltest.Turn{Text: "ok"})
			before := len(s.Refusals())
			_, err := provider.Stream(t.Context(), harness.Request{Model: a.model, System: "s", Messages: history, Tools: specs, Thinking: level}, func(harness.Delta) {})
			if refused := s.Refusals(); err != nil || len(refused) > before {
				rt.Fatalf("%v; refused %q; sent %s", err, refused[before:], s.Requests()[len(s.Requests())-1].Body)
			}
		})
	})
}

// Whatever a history holds, what is sent of it breaks no rule of the server's when
// it is compacted or shortened for a small window, and a run goes on from that.
func TestLaw_no_compacted_history_is_refused(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t)
		s.Terms.Foreign = true
		provider := a.dial(s, client(t))
		compacted := 0
		rapid.Check(t, func(rt *rapid.T) {
			j := &memory{}
			for _, m := range rapid.SliceOfN(anyMessage(a), 0, 16).Draw(rt, "history") {
				if rapid.Bool().Draw(rt, "long") {
					m.Content = append(m.Content, wire.TextPart(strings.Repeat("word ", rapid.IntRange(1, 2000).Draw(rt, "length"))))
				}
				j.msgs = append(j.msgs, m)
			}
			before := len(s.Refusals())
			for range 2 {
				model := a.model
				model.Window = rapid.SampledFrom([]int{3000, 8000, 32_000}).Draw(rt, "window")
				run := &harness.Run{
					Model: model, Provider: provider, System: "s", Tools: echoTools(), Store: j, Session: "s", Prompt: user("go"),
					Thinking:    rapid.SampledFrom([]string{"off", "low", "max"}).Draw(rt, "level"),
					WantCompact: func() bool { return rapid.IntRange(0, 2).Draw(rt, "wanted") == 0 },
				}
				for range 12 {
					s.Then(modeltest.Turn{Text: "ok", Calls: []modeltest.Call{{ID: "new", Name: "bash", Arguments: `{}`}}})
				}
				run.Meter = harness.NewMeter(harness.Limits{Calls: 4}, nil)
				end := run.Do(t.Context())
				run.Wait()
				j.msgs = append(j.msgs, end.Final...)
				if refused := s.Refusals(); len(refused) > before {
					rt.Fatalf("%v; refused %q; sent %s", end.Err, refused[before:], s.Requests()[len(s.Requests())-1].Body)
				}
			}
			compacted += j.compactions
		})
		if compacted == 0 {
			t.Error("nothing was compacted")
		}
	})
}

// memory is a store in memory.
type memory struct {
	msgs        []wire.Message
	compactions int
}

func (j *memory) Append(_ context.Context, msgs ...wire.Message) error {
	j.msgs = append(j.msgs, msgs...)
	return nil
}

func (j *memory) Context(context.Context) ([]wire.Message, error) { return slices.Clone(j.msgs), nil }

func (j *memory) Compact(_ context.Context, c harness.Compaction) error {
	j.compactions++
	j.msgs = wire.Compacted(wire.SummaryMessage(wire.Entry{Summary: c.Summary}), j.msgs[len(j.msgs)-c.Keep:])
	return nil
}

func FuzzStream_anthropic(f *testing.F) { fuzzStream(f, apis[0]) }
func FuzzStream_openai(f *testing.F)    { fuzzStream(f, apis[1]) }
func FuzzStream_responses(f *testing.F) { fuzzStream(f, apis[2]) }

// fuzzStream reads whatever a server may send: the answer is a message that is
// JSON, or one of the errors there are.
func fuzzStream(f *testing.F, a api) {
	for _, stream := range []string{
		"data: [DONE]\n\n", "event: error\ndata: nonsense\n\n", "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1}]},\"finish_reason\":\"stop\"}]}\n\n",
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":7,\"delta\":{\"type\":\"text_delta\",\"text\":\"x\"}}\n\n",
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":1,\"name\":null,\"input\":{\"a\":1}}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		"data: {\"type\":\"response.output_item.done\",\"output_index\":3,\"item\":{\"type\":\"function_call\",\"arguments\":{},\"call_id\":7}}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":-1}}}\n\n",
		"data: {\"type\":\"error\",\"code\":\"server_error\",\"message\":null}\n\n", "data: {\"type\":\"response.failed\",\"response\":{\"error\":null}}\n\n",
		"data: {\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":1e30}}\n\n", "data: {\"error\":null}\n\n", ": \n\n", "data\n\n\x00",
	} {
		f.Add(stream)
	}
	s := a.server(f)
	provider := a.dial(s, http.DefaultClient)
	f.Cleanup(http.DefaultClient.CloseIdleConnections)
	f.Fuzz(func(t *testing.T, stream string) {
		if stream == "" {
			return
		}
		s.Then(modeltest.Turn{Stream: stream})
		m, err := provider.Stream(context.Background(), harness.Request{Model: a.model, Messages: []wire.Message{user("go")}}, func(harness.Delta) {})
		var e *harness.ModelError
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%#v", err)
		}
		for i := range m.Content {
			m.Content[i].Arguments = nil // raw until the loop has looked at them
		}
		if _, err := json.Marshal(m); err != nil || m.Role != wire.Assistant || m.Usage == nil || m.StopReason == "" {
			t.Errorf("%+v %v", m, err)
		}
	})
}
