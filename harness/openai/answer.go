package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// answer gathers the chunks of a stream into a message.
type answer struct {
	model    harness.Model
	emit     func(harness.Delta)
	id       string
	text     strings.Builder
	thinking strings.Builder
	field    string // in which the thinking came, and goes back
	calls    []*call
	usage    wire.Usage
	finish   string // the finish_reason; empty until the answer is complete
}

// call is a tool call in the making.
type call struct {
	index int64 // -1 if the server gives none
	part  wire.Part
	args  strings.Builder
}

func newAnswer(req harness.Request, emit func(harness.Delta)) *answer {
	return &answer{model: req.Model, emit: emit}
}

func (a *answer) chunk(c sdk.ChatCompletionChunk) {
	if a.id == "" {
		a.id = c.ID
	}
	if c.JSON.Usage.Valid() {
		a.count(c.Usage)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // only one was asked for
		}
		a.delta(choice.Delta)
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
	}
}

func (a *answer) delta(d sdk.ChatCompletionChunkChoiceDelta) {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		var text string
		if raw := d.JSON.ExtraFields[field].Raw(); json.Unmarshal([]byte(raw), &text) == nil && text != "" {
			a.field = field
			a.thinking.WriteString(text)
			a.emit(harness.Delta{Thinking: true, Text: text})
			break // some servers send both, with the same text
		}
	}
	if text := d.Content + d.Refusal; text != "" {
		a.text.WriteString(text)
		a.emit(harness.Delta{Text: text})
	}
	for _, t := range d.ToolCalls {
		a.tool(t)
	}
}

func (a *answer) tool(t sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	c := a.find(t)
	if c.part.ID == "" {
		c.part.ID = t.ID
	}
	if c.part.Name == "" {
		c.part.Name = t.Function.Name
	}
	c.args.WriteString(t.Function.Arguments)
	var extra struct {
		Google struct {
			Signature string `json:"thought_signature"`
		} `json:"google"`
	}
	if raw := t.JSON.ExtraFields["extra_content"].Raw(); json.Unmarshal([]byte(raw), &extra) == nil && extra.Google.Signature != "" {
		c.part.ThoughtSignature = extra.Google.Signature
	}
	a.emit(harness.Delta{}) // nothing to show, but a sign of life
}

// find returns the call that a piece belongs to: the one of its index, else the
// one of its id, else the last one; or a new one.
func (a *answer) find(t sdk.ChatCompletionChunkChoiceDeltaToolCall) *call {
	indexed, named := t.JSON.Index.Valid(), t.Function.Name != ""
	for i := len(a.calls) - 1; i >= 0; i-- {
		c := a.calls[i]
		if begins(c, t) {
			continue
		}
		switch {
		case indexed && c.index == t.Index,
			!indexed && t.ID != "" && c.part.ID == t.ID,
			!indexed && t.ID == "" && !named:
			return c
		}
	}
	c := &call{index: -1, part: wire.Part{Type: wire.ToolCall}}
	if indexed {
		c.index = t.Index
	}
	a.calls = append(a.calls, c)
	return c
}

// begins reports whether a piece begins another call than c although it may
// have c's index or id, as with servers that give all calls the same: it has a
// name, and either its own id or arguments when c's are whole.
func begins(c *call, t sdk.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if t.Function.Name == "" || c.part.Name == "" {
		return false
	}
	return t.ID != "" && t.ID != c.part.ID || t.Function.Arguments != "" && json.Valid([]byte(c.args.String()))
}

func (a *answer) count(u sdk.CompletionUsage) {
	cached := int(u.PromptTokensDetails.CachedTokens)
	if hit := u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw(); cached == 0 && hit != "" {
		_ = json.Unmarshal([]byte(hit), &cached) // DeepSeek's; without it nothing came from the cache
	}
	written := int(u.PromptTokensDetails.CacheWriteTokens)
	a.usage = wire.Usage{
		Input:      max(0, int(u.PromptTokens)-cached-written),
		Output:     int(u.CompletionTokens),
		CacheRead:  cached,
		CacheWrite: written,
	}
	a.usage.Total = a.usage.Input + a.usage.Output + cached + written
	a.model.Price.Cost(&a.usage)
}

// end returns the message, and err as it is.
func (a *answer) end(err error) (wire.Message, error) {
	m := wire.Message{
		Role: wire.Assistant, API: a.model.API, Provider: a.model.Provider, Model: a.model.ID,
		ResponseID: a.id, Usage: &a.usage, Timestamp: time.Now().UnixMilli(),
	}
	if a.thinking.Len() > 0 {
		m.Content = append(m.Content, wire.Part{Type: wire.Thinking, Thinking: a.thinking.String(), ThinkingSignature: a.field})
	}
	if a.text.Len() > 0 {
		m.Content = append(m.Content, wire.TextPart(a.text.String()))
	}
	for i, c := range a.calls {
		c.part.Arguments = protocol.Arguments(c.args.String())
		// Of an answer that broke off, a call counts if another has begun after it.
		if err == nil || i < len(a.calls)-1 && protocol.IsObject(c.part.Arguments) {
			m.Content = append(m.Content, c.part)
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		m.StopReason = wire.StopAborted
	case err != nil:
		m.StopReason, m.ErrorMessage = wire.StopError, err.Error()
	case a.finish == "length":
		m.StopReason = wire.StopLength
	case len(m.Calls()) > 0: // whatever the server calls it
		m.StopReason = wire.StopToolUse
	default:
		m.StopReason = wire.StopEnd
	}
	return m, err
}
