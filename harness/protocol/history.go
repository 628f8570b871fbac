package protocol

import (
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// Prepare returns the messages of req as every server accepts them: a new slice
// with copied messages, whose beginning stays the same as the history grows.
//
//   - Calls and results are paired, as [harness.Repair] does it.
//   - No text is empty or holds NUL; no message is empty.
//   - User and assistant messages alternate, beginning with a user's; the
//     neighbours that do not are merged.
//   - Thinking and signatures go back only to the model that made them, and in
//     the API in which they came.
//   - Images are ones that servers take, and not too many. The oldest, and then
//     the middle of tools' results, give way to the size of the request.
func Prepare(req harness.Request) []wire.Message {
	var out []wire.Message
	for _, m := range harness.Repair(req.Messages) {
		parts := content(m)
		switch m.Role {
		case wire.Assistant:
			if !same(m, req.Model) {
				parts = withoutSignatures(parts)
			}
			out = add(out, wire.Message{Role: wire.Assistant, Content: parts})
		case wire.ToolResult:
			if len(parts) == 0 {
				parts = []wire.Part{wire.TextPart("(no output)")}
			}
			out = append(out, wire.Message{Role: wire.ToolResult, Content: parts, ToolCallID: m.ToolCallID, IsError: m.IsError})
		default:
			out = add(out, wire.Message{Role: wire.User, Content: parts})
		}
	}
	room := fitText(out, req.Model.Caps.OrCommon().Body-otherBytes(req))
	limitImages(out, req.Model, room)
	return out
}

// same reports whether m is an answer of that model. An answer that does not say
// in which API it came is taken for one of the model's.
func same(m wire.Message, model harness.Model) bool {
	return m.Provider == model.Provider && m.Model == model.ID && (m.API == "" || m.API == model.API)
}

// add appends m, or merges it into a last message of the same role.
func add(msgs []wire.Message, m wire.Message) []wire.Message {
	if len(m.Content) == 0 {
		return msgs
	}
	if len(msgs) == 0 && m.Role == wire.Assistant {
		msgs = add(msgs, wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart("(Earlier messages are not shown.)")}})
	}
	if n := len(msgs) - 1; n >= 0 && msgs[n].Role == m.Role {
		msgs[n].Content = append(msgs[n].Content, m.Content...)
		return msgs
	}
	return append(msgs, m)
}

// content copies the parts of m that a server takes in a message of its role.
func content(m wire.Message) []wire.Part {
	fromModel := m.Role == wire.Assistant
	var out []wire.Part
	for _, p := range m.Content {
		keep := false
		switch p.Type {
		case wire.Text:
			p.Text = strings.ReplaceAll(strings.ToValidUTF8(p.Text, "\uFFFD"), "\x00", "\uFFFD")
			keep = strings.TrimSpace(p.Text) != ""
		case wire.Image:
			keep = !fromModel
		case wire.Thinking:
			keep = fromModel && p.ThinkingSignature != ""
		case wire.ToolCall:
			keep = fromModel
		}
		if keep {
			out = append(out, p)
		}
	}
	return out
}

// withoutSignatures drops what only the model that made it understands.
func withoutSignatures(parts []wire.Part) []wire.Part {
	var out []wire.Part
	for _, p := range parts {
		if p.Type == wire.Thinking {
			continue
		}
		p.TextSignature, p.ThoughtSignature = "", ""
		out = append(out, p)
	}
	return out
}

// MaxTokens is how long an answer may be so that it fits the window beside the
// messages, by a careful estimate; 0 if the model has no limit.
func MaxTokens(m harness.Model, system string, tools []harness.ToolSpec, msgs []wire.Message) int {
	if m.Window <= 0 || m.MaxTokens <= 0 {
		return max(0, m.MaxTokens)
	}
	size := len(system)
	for _, t := range tools {
		size += len(t.Description) + len(t.Schema)
	}
	tokens := 512
	for _, msg := range msgs {
		for _, p := range msg.Content {
			size += len(p.Text) + len(p.Thinking) + len(p.Arguments)
			if p.Type == wire.Image {
				tokens += 1600
			}
		}
	}
	room := m.Window - tokens - size/3
	return max(min(m.MaxTokens, room), min(m.MaxTokens, 1024))
}
