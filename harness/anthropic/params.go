package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// defaultMaxTokens is for a model that does not say: the API wants a number.
const defaultMaxTokens = 16384

// params is the request body. Equal requests give equal bytes, and a longer
// history begins with those of a shorter one, which is what the cache goes by.
func params(req harness.Request) sdk.MessageNewParams {
	history := conclusive(protocol.Prepare(req))
	p := sdk.MessageNewParams{
		Model:     req.Model.ID,
		MaxTokens: int64(protocol.MaxTokens(req.Model, req.System, req.Tools, history)),
		Messages:  messages(history),
		Tools:     tools(req.Tools),
	}
	if p.MaxTokens == 0 {
		p.MaxTokens = defaultMaxTokens
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	think(&p, req, history)
	markCache(p.Messages)
	return p
}

// conclusive drops thinking at the end of answers, which led to nothing: the API
// refuses an answer that ends so.
func conclusive(history []wire.Message) []wire.Message {
	var out []wire.Message
	for _, m := range history {
		for n := len(m.Content); n > 0 && m.Content[n-1].Type == wire.Thinking; n = len(m.Content) {
			m.Content = m.Content[:n-1]
		}
		if len(m.Content) > 0 {
			out = append(out, m)
		}
	}
	return out
}

func tools(specs []harness.ToolSpec) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	for _, s := range specs {
		t := sdk.ToolParam{Name: s.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](s.Schema)}
		if s.Description != "" {
			t.Description = sdk.String(s.Description)
		}
		out = append(out, sdk.ToolUnionParam{OfTool: &t})
	}
	if n := len(out); n > 0 {
		out[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return out
}

// messages turns a prepared history into the API's; the results of tools become
// the beginning of the user message that follows.
func messages(history []wire.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range history {
		switch m.Role {
		case wire.Assistant:
			out = append(out, sdk.NewAssistantMessage(assistantBlocks(m.Content)...))
		case wire.ToolResult:
			out = addUser(out, toolResult(m))
		default:
			out = addUser(out, userBlocks(m.Content)...)
		}
	}
	return out
}

// addUser adds to a user message at the end, or begins one.
func addUser(msgs []sdk.MessageParam, blocks ...sdk.ContentBlockParamUnion) []sdk.MessageParam {
	if n := len(msgs) - 1; n >= 0 && msgs[n].OfUser != nil {
		msgs[n].OfUser.Content = append(msgs[n].OfUser.Content, blocks...)
		return msgs
	}
	return append(msgs, sdk.NewUserMessage(blocks...))
}

func userBlocks(parts []wire.Part) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, p := range parts {
		switch p.Type {
		case wire.Text:
			out = append(out, sdk.NewTextBlock(p.Text))
		case wire.Image:
			out = append(out, sdk.NewImageBlockBase64(p.MimeType, p.Data))
		}
	}
	return out
}

func assistantBlocks(parts []wire.Part) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, p := range parts {
		switch {
		case p.Type == wire.Text:
			out = append(out, sdk.NewTextBlock(p.Text))
		case p.Type == wire.Thinking && p.Redacted:
			out = append(out, sdk.NewRedactedThinkingBlock(p.ThinkingSignature))
		case p.Type == wire.Thinking:
			out = append(out, sdk.NewThinkingBlock(p.ThinkingSignature, p.Thinking))
		case p.Type == wire.ToolCall:
			out = append(out, sdk.NewToolUseBlock(p.ID, json.RawMessage(p.Arguments), p.Name))
		}
	}
	return out
}

func toolResult(m wire.Message) sdk.ContentBlockParamUnion {
	r := sdk.ToolResultBlockParam{ToolUseID: m.ToolCallID}
	if m.IsError && !hasImage(m) { // the API refuses both together, and the text says what failed
		r.IsError = sdk.Bool(true)
	}
	for _, p := range m.Content {
		switch p.Type {
		case wire.Text:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: p.Text}})
		case wire.Image:
			image := sdk.NewImageBlockBase64(p.MimeType, p.Data)
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image.OfImage})
		}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &r}
}

func hasImage(m wire.Message) bool {
	return slices.ContainsFunc(m.Content, func(p wire.Part) bool { return p.Type == wire.Image })
}

// markCache lets the server keep the history up to its last two user messages:
// one that this request adds, and one that the request before had added. With
// the system prompt and the tools these are the four marks that the API allows.
func markCache(msgs []sdk.MessageParam) {
	marks := 0
	for i := len(msgs) - 1; i >= 0 && marks < 2; i-- {
		if msgs[i].OfUser == nil {
			continue
		}
		blocks := msgs[i].OfUser.Content
		if c := blocks[len(blocks)-1].GetCacheControl(); c != nil {
			*c = sdk.NewCacheControlEphemeralParam()
			marks++
		}
	}
}

// budgets are the tokens of thinking for models that take a number.
var budgets = map[string]int{
	"minimal": 1024, "low": 4096, "medium": 10240, "high": 20480, "xhigh": 32768, "max": 65536,
}

// think asks for thinking. A model with words for its levels decides by itself
// how long it thinks at one; the others get a number of tokens.
func think(p *sdk.MessageNewParams, req harness.Request, history []wire.Message) {
	if !req.Model.Reasons || req.Thinking == "" || req.Thinking == "off" {
		return
	}
	budget := budgets[req.Thinking]
	if word := req.Model.Levels[req.Thinking]; word != "" {
		n, err := strconv.Atoi(word)
		if err != nil {
			p.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
			p.OutputConfig.Effort = sdk.OutputConfigEffort(word)
			return
		}
		budget = n
	}
	// The budget counts as part of the answer, which needs room of its own.
	budget = min(budget, int(p.MaxTokens)-1024)
	if budget >= 1024 && mayThink(history) {
		p.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(budget))
	}
}

// mayThink reports whether a budget may be given: the API refuses it in the
// middle of a turn whose tool calls were made without thinking.
func mayThink(history []wire.Message) bool {
	results := false // a user message was seen that holds results of tools
	for i := len(history) - 1; i >= 0; i-- {
		switch m := history[i]; m.Role {
		case wire.ToolResult:
			results = true
		case wire.Assistant:
			return !results || m.Content[0].Type == wire.Thinking
		}
	}
	return true
}
