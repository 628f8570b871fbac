package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// params is the request body. Equal requests give equal bytes, and a longer
// history begins with those of a shorter one, which is what the cache goes by.
func params(req harness.Request, compat Compat) sdk.ChatCompletionNewParams {
	history := protocol.Prepare(req)
	p := sdk.ChatCompletionNewParams{
		Model:    req.Model.ID,
		Messages: append(system(req, compat), messages(history)...),
		Tools:    tools(req.Tools, compat),
	}
	if n := protocol.MaxTokens(req.Model, req.System, req.Tools, history); n > 0 {
		if compat.MaxTokens == "max_completion_tokens" {
			p.MaxCompletionTokens = sdk.Int(int64(n))
		} else {
			p.MaxTokens = sdk.Int(int64(n))
		}
	}
	if !compat.NoUsage {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if compat.Store {
		p.Store = sdk.Bool(false)
	}
	if compat.CacheKey && req.Session != "" {
		p.PromptCacheKey = sdk.String(short(req.Session))
	}
	if !compat.NoEffort {
		p.ReasoningEffort = shared.ReasoningEffort(protocol.Effort(req))
	}
	return p
}

func system(req harness.Request, compat Compat) []sdk.ChatCompletionMessageParamUnion {
	switch {
	case req.System == "":
		return nil
	case compat.DeveloperRole && req.Model.Reasons:
		return []sdk.ChatCompletionMessageParamUnion{sdk.DeveloperMessage(req.System)}
	}
	return []sdk.ChatCompletionMessageParamUnion{sdk.SystemMessage(req.System)}
}

func tools(specs []harness.ToolSpec, compat Compat) []sdk.ChatCompletionToolUnionParam {
	var out []sdk.ChatCompletionToolUnionParam
	for _, s := range specs {
		// The raw text keeps the order of the schema's keys.
		f := map[string]any{"name": s.Name, "description": beginning(s.Description), "parameters": s.Schema}
		if compat.Strict {
			f["strict"] = false
		}
		raw, err := json.Marshal(f)
		if err != nil {
			continue // a schema that is not JSON
		}
		out = append(out, sdk.ChatCompletionFunctionTool(param.Override[shared.FunctionDefinitionParam](json.RawMessage(raw))))
	}
	return out
}

// maxDescription is how many characters OpenAI takes of what is said of a tool.
const maxDescription = 1024

// beginning is as much of a tool's description as OpenAI takes.
func beginning(description string) string {
	if r := []rune(description); len(r) > maxDescription {
		return string(r[:maxDescription-1]) + "…"
	}
	return description
}

// messages turns a prepared history into the API's. Images of tool results,
// which the API does not take there, stand in a user message after the results.
func messages(history []wire.Message) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	var images []wire.Part // of the results since the last other message
	for i, m := range history {
		switch m.Role {
		case wire.Assistant:
			if m.PlainText() != "" || len(m.Calls()) > 0 {
				out = append(out, assistant(m))
			}
		case wire.ToolResult:
			text, pictures := split(m)
			out = append(out, sdk.ToolMessage(text, short(m.ToolCallID)))
			images = append(images, pictures...)
			if next := i + 1; len(images) > 0 && (next == len(history) || history[next].Role == wire.Assistant) {
				out, images = append(out, user(images)), nil
			}
		default:
			out, images = append(out, user(append(images, m.Content...))), nil
		}
	}
	return out
}

// split separates a tool result's text and its images, each under a line that
// says whose they are.
func split(m wire.Message) (text string, images []wire.Part) {
	for _, p := range m.Content {
		if p.Type == wire.Image {
			images = append(images, wire.TextPart("Image of the tool result "+short(m.ToolCallID)+":"), p)
		}
	}
	text = m.PlainText()
	if text == "" {
		text = "(see the image in the next message)"
	}
	return text, images
}

// user is a user message: text alone as a string, which every server takes.
func user(parts []wire.Part) sdk.ChatCompletionMessageParamUnion {
	var texts []string
	var content []sdk.ChatCompletionContentPartUnionParam
	for _, p := range parts {
		switch p.Type {
		case wire.Text:
			texts = append(texts, p.Text)
			content = append(content, sdk.TextContentPart(p.Text))
		case wire.Image:
			content = append(content, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
				URL: "data:" + p.MimeType + ";base64," + p.Data,
			}))
		}
	}
	if len(texts) == len(content) {
		return sdk.UserMessage(strings.Join(texts, "\n\n"))
	}
	return sdk.UserMessage(content)
}

func assistant(m wire.Message) sdk.ChatCompletionMessageParamUnion {
	a := &sdk.ChatCompletionAssistantMessageParam{}
	if text := m.PlainText(); text != "" {
		a.Content.OfString = sdk.String(text)
	}
	for _, p := range m.Content {
		switch {
		case p.Type == wire.ToolCall:
			a.ToolCalls = append(a.ToolCalls, toolCall(p))
		case p.Type == wire.Thinking && len(m.Calls()) > 0 && (p.ThinkingSignature == "reasoning_content" || p.ThinkingSignature == "reasoning"):
			// Some models want their thoughts back while a turn goes on.
			a.SetExtraFields(map[string]any{p.ThinkingSignature: p.Thinking})
		}
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: a}
}

func toolCall(p wire.Part) sdk.ChatCompletionMessageToolCallUnionParam {
	c := &sdk.ChatCompletionMessageFunctionToolCallParam{ID: short(p.ID)}
	c.Function.Name = p.Name
	c.Function.Arguments = string(p.Arguments)
	if p.ThoughtSignature != "" {
		c.SetExtraFields(map[string]any{"extra_content": map[string]any{
			"google": map[string]any{"thought_signature": p.ThoughtSignature},
		}})
	}
	return sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: c}
}

// short makes an id of a length that OpenAI takes.
func short(id string) string { return protocol.Short(id, 40) }
