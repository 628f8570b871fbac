package modeltest

import "fmt"

// checkThinking wants no answer to end with thinking and, if thinking has a
// budget, the turn that is going on to begin with it.
func (r anthropicRequest) checkThinking() string {
	for i, m := range r.Messages {
		if n := len(m.Content) - 1; m.Content[n].thinking() {
			return fmt.Sprintf("messages.%d.content.%d: The final block in an assistant message cannot be `%s`.", i, n, m.Content[n].Type)
		}
	}
	last := len(r.Messages) - 1
	if !r.thinks() || last < 1 || r.Messages[last].Content[0].Type != "tool_result" {
		return ""
	}
	if first := r.Messages[last-1].Content[0]; !first.thinking() {
		return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", last-1, first.Type)
	}
	return ""
}

// checkSignatures wants thinking back as it was, and none that the server has
// not made.
func (a *anthropicAPI) checkSignatures(r anthropicRequest, terms Terms) string {
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if !b.thinking() {
				continue
			}
			text, known := a.thought(b.Signature + b.Data)
			switch {
			case known && b.Type == "thinking" && text != b.Thinking:
				return fmt.Sprintf("messages.%d.content.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", i, j)
			case known || terms.Foreign:
			case b.Type == "thinking":
				return fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, j)
			default:
				return fmt.Sprintf("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, j)
			}
		}
	}
	return ""
}
