package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mikan/wire"
)

// tidy makes a reply fit to be kept and to be sent to any provider: no empty
// part, text that is UTF-8, arguments that are objects, ids that no other call
// of the history has. It returns, by call id, why a call cannot be run.
func (l *loop) tidy(m *wire.Message) map[string]string {
	m.Content = presentable(m.Content)
	unfit := map[string]string{}
	cut := false
	taken := make(map[string]bool)
	for i := range m.Content {
		p := &m.Content[i]
		if p.Type != wire.ToolCall {
			continue
		}
		p.ID = freshID(p.ID, l.ids, taken)
		p.Name = toolName(p.Name)
		args, why := object(p.Arguments)
		p.Arguments = args
		if why != "" && m.StopReason == wire.StopLength {
			cut = true
			why = fmt.Sprintf("the reply was cut off at the model's limit of %d tokens before this call was complete, so it was not run; do it in smaller steps", l.Model.MaxTokens)
		}
		if why != "" {
			unfit[p.ID] = why
		}
	}
	l.cuts++
	if !cut {
		l.cuts = 0
	}
	m.StopReason = stopReason(*m)
	return unfit
}

// stopReason is m's, in agreement with whether it has tool calls.
func stopReason(m wire.Message) string {
	switch calls := len(m.Calls()) > 0; {
	case m.StopReason == wire.StopLength:
		return wire.StopLength
	case calls:
		return wire.StopToolUse
	case m.StopReason == wire.StopToolUse, m.StopReason == "":
		return wire.StopEnd
	}
	return m.StopReason
}

// presentable copies parts without those that are empty, with text that is
// UTF-8. Signed reasoning stays as it is.
func presentable(parts []wire.Part) []wire.Part {
	var kept []wire.Part
	for _, p := range parts {
		if p.Type == wire.Text {
			p.Text = strings.ToValidUTF8(p.Text, "\uFFFD")
		}
		if !empty(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func empty(p wire.Part) bool {
	switch p.Type {
	case wire.Text:
		return strings.TrimSpace(p.Text) == "" && p.TextSignature == ""
	case wire.Thinking:
		return p.Thinking == "" && p.ThinkingSignature == ""
	case wire.Image:
		return p.Data == ""
	}
	return p.Type != wire.ToolCall
}

// object returns raw if it is a JSON object, else {} and what is wrong with
// raw. A text in it that is not UTF-8 is mended.
func object(raw json.RawMessage) (json.RawMessage, string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return json.RawMessage("{}"), "the arguments are missing; they must be a JSON object"
	}
	if !json.Valid(raw) {
		return json.RawMessage("{}"), "the arguments are not valid JSON; they must be a JSON object"
	}
	if raw[0] != '{' {
		return json.RawMessage("{}"), "the arguments are " + jsonKind(raw[0]) + "; they must be a JSON object"
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		raw = withoutSurrogates(raw)
	}
	return slices.Clone(raw), ""
}

// withoutSurrogates writes the JSON object anew, which replaces the escapes of
// lone surrogates that some servers refuse.
func withoutSurrogates(raw json.RawMessage) json.RawMessage {
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return json.RawMessage("{}")
	}
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

func jsonKind(first byte) string {
	switch first {
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// maxID is the longest id or name that every provider takes.
const maxID = 64

// freshID returns id, changed if it has characters that a provider may refuse
// or if it is in one of the sets, and adds it to the last.
func freshID(id string, sets ...map[string]bool) string {
	base := plainName(id, "call")
	fresh := base
	for n := 2; slices.ContainsFunc(sets, func(s map[string]bool) bool { return s[fresh] }); n++ {
		suffix := "_" + strconv.Itoa(n)
		fresh = base[:min(len(base), maxID-len(suffix))] + suffix
	}
	sets[len(sets)-1][fresh] = true
	return fresh
}

func toolName(name string) string { return plainName(name, "unnamed") }

// plainName is s as [a-zA-Z0-9_-]{1,64}, or instead if s is empty.
func plainName(s, instead string) string {
	plain := []byte(s[:min(len(s), maxID)])
	for i, c := range plain {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			plain[i] = '_'
		}
	}
	if len(plain) == 0 {
		return instead
	}
	return string(plain)
}
