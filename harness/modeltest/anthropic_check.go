package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

var (
	anthropicID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	anthropicUse  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,200}$`)
	anthropicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
)

// check returns what the Messages API would say is wrong with a request.
func (a *anthropicAPI) check(body []byte, terms Terms) string {
	var r anthropicRequest
	switch err := json.Unmarshal(body, &r); {
	case err != nil:
		return "The request body is not valid JSON: " + err.Error()
	case r.Model == "":
		return "model: Field required"
	case r.MaxTokens < 1:
		return "max_tokens: Input should be greater than or equal to 1"
	case terms.MaxTokens > 0 && r.MaxTokens > terms.MaxTokens:
		return fmt.Sprintf("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, terms.MaxTokens, r.Model)
	case !r.Stream:
		return "modeltest: stream is not set"
	case len(r.Messages) == 0:
		return "messages: at least one message is required"
	case r.thinks() && r.Thinking.Budget < 1024:
		return "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
	case r.thinks() && r.MaxTokens <= r.Thinking.Budget:
		return "`max_tokens` must be greater than `thinking.budget_tokens`."
	}
	for _, rule := range []func() string{
		r.checkTools, r.checkCache, r.checkMessages, r.checkPairs, r.checkThinking,
		func() string { return r.checkImages(terms) },
		func() string { return a.checkSignatures(r, terms) },
	} {
		if text := rule(); text != "" {
			return text
		}
	}
	return ""
}

// thinks reports whether thinking has a budget.
func (r anthropicRequest) thinks() bool { return r.Thinking != nil && r.Thinking.Type == "enabled" }

func (r anthropicRequest) checkTools() string {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		switch {
		case !anthropicName.MatchString(t.Name):
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
	for i, m := range r.Messages {
		for j, b := range m.Content {
			if b.Cache != nil && b.thinking() {
				return fmt.Sprintf("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, j, b.Type)
			}
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
	last := r.Messages[len(r.Messages)-1]
	end := last.Content[len(last.Content)-1]
	switch {
	case last.Role != "assistant":
		return ""
	case end.Type == "text" && strings.TrimRight(*end.Text, " \t\r\n") != *end.Text:
		return "messages: final assistant content cannot end with trailing whitespace"
	}
	return "This model does not support assistant message prefill. The conversation must end with a user message."
}

func (b anthropicBlock) thinking() bool {
	return b.Type == "thinking" || b.Type == "redacted_thinking"
}

// kinds are the types of blocks, and by role where they may stand.
var anthropicKinds = map[string]string{
	"text": "", "image": "user", "tool_result": "user", "tool_use": "assistant", "thinking": "assistant", "redacted_thinking": "assistant",
}

func (b anthropicBlock) check(at, role string) string {
	of, known := anthropicKinds[b.Type]
	switch {
	case !known:
		return fmt.Sprintf("%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'", at, b.Type)
	case of != "" && of != role:
		return fmt.Sprintf("%s: `%s` blocks can only be in `%s` messages", at, b.Type, of)
	case b.Type == "text" && (b.Text == nil || *b.Text == ""):
		return "messages: text content blocks must be non-empty"
	case b.Type == "text" && strings.TrimSpace(*b.Text) == "":
		return "messages: text content blocks must contain non-whitespace text"
	case b.Type == "tool_use" && !isObject(b.Input):
		return at + ".tool_use.input: Input should be a valid dictionary"
	case b.Type == "tool_use" && !anthropicID.MatchString(b.ID):
		return at + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
	case b.Type == "tool_use" && !anthropicUse.MatchString(b.Name):
		return at + ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'"
	case b.Type == "thinking" && b.Signature == "":
		return at + ".thinking.signature: Field required"
	case b.Type == "redacted_thinking" && b.Data == "":
		return at + ".redacted_thinking.data: Field required"
	}
	for k, c := range b.inner() {
		if c.Type != "text" && c.Type != "image" {
			return fmt.Sprintf("%s.tool_result.content.%d: Input tag '%s' found using 'type' does not match any of the expected tags: 'image', 'text'", at, k, c.Type)
		}
		if b.IsError && c.Type != "text" {
			return at + ".tool_result: all content must be type `text` if `is_error` is true"
		}
		if text := c.check(fmt.Sprintf("%s.tool_result.content.%d", at, k), role); text != "" {
			return text
		}
	}
	return ""
}

// inner are the blocks of a tool_result.
func (b anthropicBlock) inner() []anthropicBlock {
	var inner []anthropicBlock
	if b.Type != "tool_result" || json.Unmarshal(b.Content, &inner) != nil {
		return nil // a string
	}
	return inner
}

// checkPairs holds each tool_use against the results at the beginning of the
// next message.
func (r anthropicRequest) checkPairs() string {
	open, seen := map[string]bool{}, map[string]bool{}
	for i, m := range r.Messages {
		next, done, other := map[string]bool{}, map[string]bool{}, false
		for j, b := range m.Content {
			switch {
			case b.Type == "tool_use" && seen[b.ID]:
				return fmt.Sprintf("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
			case b.Type == "tool_use":
				seen[b.ID], next[b.ID] = true, true
			case b.Type == "tool_result" && done[b.ToolUseID]:
				return fmt.Sprintf("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, b.ToolUseID)
			case b.Type == "tool_result" && !open[b.ToolUseID]:
				return fmt.Sprintf("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, b.ToolUseID)
			case b.Type == "tool_result" && !other:
				done[b.ToolUseID] = true
				delete(open, b.ToolUseID)
			case m.Role == "user":
				other = true // a result after this is as good as none
			}
		}
		for id := range open {
			return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
		}
		open = next
	}
	return ""
}

func isObject(raw json.RawMessage) bool {
	var m map[string]json.RawMessage
	return json.Unmarshal(raw, &m) == nil && m != nil
}
