package anthropic

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// answer gathers the events of a stream into a message.
type answer struct {
	model    harness.Model
	emit     func(harness.Delta)
	msg      wire.Message
	usage    wire.Usage
	blocks   []*block
	refusal  string // why the model declined, if it did
	complete bool   // the stream came to its end
}

// block is a content block in the making.
type block struct {
	index int64
	part  wire.Part
	text  strings.Builder // text, thinking or arguments
	done  bool
}

func newAnswer(req harness.Request, emit func(harness.Delta)) *answer {
	return &answer{
		model: req.Model,
		emit:  emit,
		msg: wire.Message{
			Role: wire.Assistant, API: req.Model.API, Provider: req.Model.Provider, Model: req.Model.ID,
			Timestamp: time.Now().UnixMilli(),
		},
	}
}

func (a *answer) event(e sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		a.msg.ResponseID = e.Message.ID
		u := e.Message.Usage
		a.usage.Input = int(u.InputTokens)
		a.usage.Output = int(u.OutputTokens)
		a.usage.CacheRead = int(u.CacheReadInputTokens)
		a.usage.CacheWrite = int(u.CacheCreationInputTokens)
	case "content_block_start":
		a.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		a.delta(e.Index, e.Delta)
	case "content_block_stop":
		if b := a.find(e.Index); b != nil {
			b.done = true
		}
	case "message_delta":
		a.stop(string(e.Delta.StopReason), e.Delta.StopDetails.Explanation)
		a.recount(e.Usage)
	case "message_stop":
		a.complete = true
	}
}

func (a *answer) start(index int64, c sdk.ContentBlockStartEventContentBlockUnion) {
	b := &block{index: index}
	switch c.Type {
	case "text":
		b.part.Type = wire.Text
		a.grow(b, c.Text)
	case "thinking":
		b.part = wire.Part{Type: wire.Thinking, ThinkingSignature: c.Signature}
		a.grow(b, c.Thinking)
	case "redacted_thinking":
		b.part = wire.Part{Type: wire.Thinking, Redacted: true, ThinkingSignature: c.Data}
	case "tool_use":
		b.part = wire.Part{Type: wire.ToolCall, ID: c.ID, Name: c.Name}
		// The input is empty here and comes in deltas; some servers send it whole.
		if input, ok := c.Input.(map[string]any); ok && len(input) > 0 {
			b.text.WriteString(c.JSON.Input.Raw())
		}
	default:
		return // a kind of block that was not asked for
	}
	a.blocks = append(a.blocks, b)
}

func (a *answer) delta(index int64, d sdk.MessageStreamEventUnionDelta) {
	b := a.find(index)
	if b == nil {
		return
	}
	switch d.Type {
	case "text_delta":
		a.grow(b, d.Text)
	case "thinking_delta":
		a.grow(b, d.Thinking)
	case "signature_delta":
		b.part.ThinkingSignature += d.Signature
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
		a.emit(harness.Delta{}) // nothing to show, but a sign of life
	}
}

// grow adds text to a block of text or thinking.
func (a *answer) grow(b *block, text string) {
	if text == "" {
		return
	}
	b.text.WriteString(text)
	a.emit(harness.Delta{Thinking: b.part.Type == wire.Thinking, Text: text})
}

// find returns the newest block with that index.
func (a *answer) find(index int64) *block {
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if a.blocks[i].index == index {
			return a.blocks[i]
		}
	}
	return nil
}

func (a *answer) stop(reason, explanation string) {
	switch reason {
	case "":
	case "tool_use":
		a.msg.StopReason = wire.StopToolUse
	case "max_tokens", "model_context_window_exceeded":
		a.msg.StopReason = wire.StopLength
	case "refusal":
		a.refusal = "the model declined to answer"
		if explanation != "" {
			a.refusal += ": " + explanation
		}
	default:
		a.msg.StopReason = wire.StopEnd
	}
}

// recount takes the totals of a message_delta; one that is absent there, as with
// some servers, keeps its value from the start.
func (a *answer) recount(u sdk.MessageDeltaUsage) {
	for _, c := range []struct {
		total int64
		into  *int
	}{
		{u.InputTokens, &a.usage.Input}, {u.OutputTokens, &a.usage.Output},
		{u.CacheReadInputTokens, &a.usage.CacheRead}, {u.CacheCreationInputTokens, &a.usage.CacheWrite},
	} {
		if c.total > 0 {
			*c.into = int(c.total)
		}
	}
}

// end returns the message, and err as it is.
func (a *answer) end(err error) (wire.Message, error) {
	for _, b := range a.blocks {
		if part, ok := b.finish(err == nil); ok {
			a.msg.Content = append(a.msg.Content, part)
		}
	}
	a.usage.Total = a.usage.Input + a.usage.Output + a.usage.CacheRead + a.usage.CacheWrite
	a.model.Price.Cost(&a.usage)
	a.msg.Usage = &a.usage
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		a.msg.StopReason = wire.StopAborted
	case err != nil:
		a.msg.StopReason, a.msg.ErrorMessage = wire.StopError, err.Error()
	case len(a.msg.Calls()) > 0 && a.msg.StopReason != wire.StopLength:
		a.msg.StopReason = wire.StopToolUse
	case a.msg.StopReason == wire.StopToolUse, a.msg.StopReason == "":
		a.msg.StopReason = wire.StopEnd
	}
	return a.msg, err
}

// finish returns the block's part. Of an answer that broke off, a tool call
// counts only if it had come to its end.
func (b *block) finish(whole bool) (wire.Part, bool) {
	p := b.part
	switch p.Type {
	case wire.Text:
		p.Text = b.text.String()
		return p, p.Text != ""
	case wire.Thinking:
		p.Thinking = b.text.String()
		return p, p.Thinking != "" || p.ThinkingSignature != ""
	}
	p.Arguments = protocol.Arguments(b.text.String())
	return p, whole || b.done && protocol.IsObject(p.Arguments)
}
