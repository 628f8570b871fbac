package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// NewAnthropic starts a server of the Messages API.
func NewAnthropic(t testing.TB, script ...Turn) *Server {
	return start(t, &anthropicAPI{thoughts: map[string]string{}}, "", script)
}

// anthropicAPI remembers what it has thought, by signature.
type anthropicAPI struct {
	mu       sync.Mutex
	thoughts map[string]string
}

func (*anthropicAPI) path() string { return "/v1/messages" }

func (*anthropicAPI) maxBody() (int, string) { return 32 << 20, "Request exceeds the maximum size" }

func (*anthropicAPI) refusal(status int, text string) string {
	kind := "invalid_request_error"
	if status == http.StatusRequestEntityTooLarge {
		kind = "request_too_large"
	}
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%s},"request_id":"req_test"}`, kind, quote(text))
}

// sign notes the thinking that a turn is about to send.
func (a *anthropicAPI) sign(t Turn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.Signature != "" {
		a.thoughts[t.Signature] = t.Thinking
	}
	if t.Redacted != "" {
		a.thoughts[t.Redacted] = ""
	}
}

// thought returns what was thought under a signature.
func (a *anthropicAPI) thought(signature string) (text string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text, ok = a.thoughts[signature]
	return text, ok
}

func (a *anthropicAPI) stream(t Turn, pieces func(string) []string) string {
	a.sign(t)
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
	}
	index := 0
	block := func(start string, deltas ...string) {
		event("content_block_start", `,"index":%d,"content_block":%s`, index, start)
		for _, d := range deltas {
			event("content_block_delta", `,"index":%d,"delta":%s`, index, d)
		}
		event("content_block_stop", `,"index":%d`, index)
		index++
	}
	deltas := func(kind, field, text string) (out []string) {
		for _, p := range pieces(text) {
			out = append(out, fmt.Sprintf(`{"type":%q,%q:%s}`, kind, field, quote(p)))
		}
		return out
	}

	event("message_start", `,"message":{"id":"msg_test","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,`+
		`"usage":{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}`,
		t.Usage.Input, t.Usage.CacheWrite, t.Usage.CacheRead)
	b.WriteString("event: ping\ndata: {\"type\": \"ping\"}\n\n")
	if t.Thinking != "" {
		d := deltas("thinking_delta", "thinking", t.Thinking)
		if t.Signature != "" {
			d = append(d, deltas("signature_delta", "signature", t.Signature)...)
		}
		block(`{"type":"thinking","thinking":"","signature":""}`, d...)
	}
	if t.Redacted != "" {
		block(fmt.Sprintf(`{"type":"redacted_thinking","data":%s}`, quote(t.Redacted)))
	}
	if t.Text != "" {
		block(`{"type":"text","text":""}`, deltas("text_delta", "text", t.Text)...)
	}
	for _, c := range t.Calls {
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.ID), quote(c.Name)),
			deltas("input_json_delta", "partial_json", c.Arguments)...)
	}
	if t.Error != "" {
		fmt.Fprintf(&b, "event: error\ndata: %s\n\n", t.Error)
		return b.String()
	}
	stop := t.Stop
	switch {
	case stop != "":
	case len(t.Calls) > 0:
		stop = "tool_use"
	default:
		stop = "end_turn"
	}
	event("message_delta", `,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":%d}`, stop, t.Usage.Output)
	event("message_stop", "")
	return b.String()
}

// quote is s as JSON, with escapes for all that is not ASCII in every other
// character, as different servers do.
func quote(s string) string {
	raw, _ := json.Marshal(s) // a string cannot fail
	var b strings.Builder
	for i, r := range string(raw) {
		switch {
		case r < 0x80 || i%2 == 0:
			b.WriteRune(r)
		case r >= 0x10000:
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// anthropicRequest is what the checks look at.
type anthropicRequest struct {
	Model     string           `json:"model"`
	MaxTokens int              `json:"max_tokens"`
	Stream    bool             `json:"stream"`
	System    []anthropicBlock `json:"system"`
	Tools     []anthropicTool  `json:"tools"`
	Thinking  *struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Messages []anthropicMessage `json:"messages"`
}

type anthropicMessage struct {
	Role    string           `json:"role"`
	Content []anthropicBlock `json:"content"`
}

type anthropicTool struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
	Cache  any             `json:"cache_control"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Source    *struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
	Cache any `json:"cache_control"`
}
