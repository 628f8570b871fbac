package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	toolName      = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	anthropicBody = 32 << 20
)

// check returns what the Messages API would say is wrong with a request.
func (anthropicAPI) check(body []byte) string {
	var r anthropicRequest
	switch err := json.Unmarshal(body, &r); {
	case len(body) > anthropicBody:
		return "Request exceeds the maximum size"
	case err != nil:
		return "The request body is not valid JSON: " + err.Error()
	case r.Model == "":
		return "model: Field required"
	case r.MaxTokens < 1:
		return "max_tokens: Input should be greater than or equal to 1"
	case !r.Stream:
		return "modeltest: stream is not set"
	case len(r.Messages) == 0:
		return "messages: at least one message is required"
	case r.Thinking != nil && r.Thinking.Type == "enabled" && r.Thinking.Budget < 1024:
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
	case r.Thinking != nil && r.Thinking.Type == "enabled" && r.MaxTokens <= r.Thinking.Budget:
		return "`max_tokens` must be greater than `thinking.budget_tokens`."
	}
	for _, rule := range []func() string{r.checkTools, r.checkCache, r.checkMessages, r.checkPairs, r.checkThinking} {
		if text := rule(); text != "" {
			return text
		}
	}
	return ""
}

func (r anthropicRequest) checkTools() string {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		switch {
		case !toolName.MatchString(t.Name):
			return fmt.Sprintf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[t.Name]:
			return "tools: Tool names must be unique."
		case !isObject(t.Schema):
			return fmt.Sprintf("tools.%d.custom.input_schema: Input should be a valid dictionary", i)
		}
		seen[t.Name] = true
	}
	return ""
}

func (r anthropicRequest) checkCache() string {
	marks := 0
	count := func(cache any) {
		if cache != nil {
			marks++
		}
	}
	for _, t := range r.Tools {
		count(t.Cache)
	}
	for _, b := range r.System {
		count(b.Cache)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			count(b.Cache)
		}
	}
	if marks > 4 {
		return fmt.Sprintf("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return ""
}

func (r anthropicRequest) checkMessages() string {
	for _, b := range r.System {
		if b.Text == nil || *b.Text == "" {
			return "system: text content blocks must be non-empty"
		}
	}
	for i, m := range r.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
		if i == 0 && m.Role != "user" {
			return "messages: first message must use the \"user\" role"
		}
		if i > 0 && r.Messages[i-1].Role == m.Role {
			return "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"" + m.Role + "\" roles in a row"
		}
		for j, b := range m.Content {
			if text := b.check(fmt.Sprintf("messages.%d.content.%d", i, j), m.Role); text != "" {
				return text
			}
		}
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role == "assistant" {
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	}
	return ""
}

func (b anthropicBlock) check(at, role string) string {
	switch {
	case b.Type == "text" && (b.Text == nil || *b.Text == ""):
		return "messages: text content blocks must be non-empty"
	case b.Type == "text" && strings.TrimSpace(*b.Text) == "":
		return "messages: text content blocks must contain non-whitespace text"
	case b.Type == "tool_use" && !isObject(b.Input):
		return at + ".tool_use.input: Input should be a valid dictionary"
	case b.Type == "tool_use" && !anthropicID.MatchString(b.ID):
		return at + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
	case b.Type == "image" && (b.Source == nil || !goodImage(b.Source.MediaType, b.Source.Data)):
		return at + ".image.source.base64: The image was specified using the image/png media type, but does not appear to be a valid png image"
	case b.Type == "thinking" && b.Signature == "":
		return at + ".thinking.signature: Field required"
	case (b.Type == "tool_use" || b.Type == "thinking" || b.Type == "redacted_thinking") && role != "assistant":
		return fmt.Sprintf("%s: `%s` blocks can only be in `assistant` messages", at, b.Type)
	case b.Type == "tool_result" && role != "user":
		return fmt.Sprintf("%s: `tool_result` blocks can only be in `user` messages", at)
	case b.Type != "tool_result" || len(b.Content) == 0:
		return ""
	}
	var inner []anthropicBlock
	if json.Unmarshal(b.Content, &inner) != nil {
		return ""
	}
	for k, c := range inner {
		if text := c.check(fmt.Sprintf("%s.tool_result.content.%d", at, k), role); text != "" {
			return text
		}
	}
	return ""
}

// checkPairs holds each tool_use against the results in the next message.
func (r anthropicRequest) checkPairs() string {
	open, seen := map[string]bool{}, map[string]bool{}
	for i, m := range r.Messages {
		next := map[string]bool{}
		for j, b := range m.Content {
			switch b.Type {
			case "tool_use":
				if seen[b.ID] {
					return fmt.Sprintf("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				}
				seen[b.ID], next[b.ID] = true, true
			case "tool_result":
				if !open[b.ToolUseID] {
					return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
				}
				delete(open, b.ToolUseID)
			}
		}
		for id := range open {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
		}
		open = next
	}
	return ""
}

// checkThinking wants the turn that is going on to begin with thinking, if
// thinking has a budget.
func (r anthropicRequest) checkThinking() string {
	if r.Thinking == nil || r.Thinking.Type != "enabled" {
		return ""
	}
	last := len(r.Messages) - 1
	if last < 1 || r.Messages[last].Content[0].Type != "tool_result" {
		return ""
	}
	if kind := r.Messages[last-1].Content[0].Type; kind != "thinking" && kind != "redacted_thinking" {
		return fmt.Sprintf("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", last-1, kind)
	}
	return ""
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
