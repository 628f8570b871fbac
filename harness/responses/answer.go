package responses

import (
	"context"
	"errors"
	"strings"
	"time"

	sdk "github.com/openai/openai-go/v3/responses"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// answer gathers the events of a stream into a message.
type answer struct {
	model   harness.Model
	emit    func(harness.Delta)
	id      string
	items   []*item
	usage   wire.Usage
	status  string // completed, incomplete or failed; empty until the end has come
	reason  string // why it is incomplete
	trouble string // the error object of one that failed
}

// item is an output item in the making.
type item struct {
	index int64
	part  wire.Part
	text  strings.Builder // text, summary or arguments
	done  bool
}

func newAnswer(req harness.Request, emit func(harness.Delta)) *answer {
	return &answer{model: req.Model, emit: emit}
}

func (a *answer) event(e sdk.ResponseStreamEventUnion) {
	switch e.Type {
	case "response.created":
		a.id = e.Response.ID
	case "response.output_item.added":
		a.begin(e.OutputIndex, e.Item)
	case "response.output_text.delta", "response.refusal.delta":
		a.grow(a.find(e.OutputIndex, wire.Text), e.Delta)
	case "response.reasoning_summary_part.added":
		// Nothing but its beginning separates one part of a summary from the last.
		if it := a.find(e.OutputIndex, wire.Thinking); it.text.Len() > 0 {
			a.grow(it, "\n\n")
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.grow(a.find(e.OutputIndex, wire.Thinking), e.Delta)
	case "response.function_call_arguments.delta":
		a.find(e.OutputIndex, wire.ToolCall).text.WriteString(e.Delta)
		a.emit(harness.Delta{}) // nothing to show, but a sign of life
	case "response.output_item.done":
		a.finish(e.OutputIndex, e.Item)
	case "response.completed", "response.incomplete", "response.failed":
		a.close(strings.TrimPrefix(e.Type, "response."), e.Response)
	case "error":
		a.status, a.trouble = "failed", `{"error":`+e.RawJSON()+`}`
	}
}

// kinds are the parts that items become; others were not asked for.
var kinds = map[string]string{"reasoning": wire.Thinking, "message": wire.Text, "function_call": wire.ToolCall}

func (a *answer) begin(index int64, i sdk.ResponseOutputItemUnion) {
	if kind := kinds[i.Type]; kind != "" {
		a.items = append(a.items, &item{index: index, part: wire.Part{Type: kind, ID: i.CallID, Name: i.Name}})
	}
}

// find returns the newest item of a kind with that index, and begins one if the
// server has not.
func (a *answer) find(index int64, kind string) *item {
	for i := len(a.items) - 1; i >= 0; i-- {
		if it := a.items[i]; it.index == index && it.part.Type == kind && !it.done {
			return it
		}
	}
	it := &item{index: index, part: wire.Part{Type: kind}}
	a.items = append(a.items, it)
	return it
}

// grow adds text to an item of text or thinking.
func (a *answer) grow(it *item, text string) {
	if text == "" {
		return
	}
	it.text.WriteString(text)
	a.emit(harness.Delta{Thinking: it.part.Type == wire.Thinking, Text: text})
}

// finish takes what an item has become, and its text if none has come before.
func (a *answer) finish(index int64, i sdk.ResponseOutputItemUnion) {
	kind := kinds[i.Type]
	if kind == "" {
		return
	}
	it := a.find(index, kind)
	it.done = true
	switch kind {
	case wire.Thinking:
		if it.text.Len() == 0 {
			a.grow(it, summary(i))
		}
		if i.EncryptedContent != "" {
			it.part.ThinkingSignature = i.RawJSON()
			it.part.Redacted = it.text.Len() == 0
		}
	case wire.Text:
		if it.text.Len() == 0 {
			a.grow(it, text(i))
		}
		if i.ID != "" {
			it.part.TextSignature = textSignature{V: 1, ID: i.ID, Phase: string(i.Phase)}.String()
		}
	case wire.ToolCall:
		it.part.ThoughtSignature, it.part.ID, it.part.Name = i.ID, i.CallID, i.Name
		if args := i.Arguments.OfString; args != "" {
			it.text.Reset()
			it.text.WriteString(args)
		}
	}
}

func summary(i sdk.ResponseOutputItemUnion) string {
	var parts []string
	for _, s := range i.Summary {
		parts = append(parts, s.Text)
	}
	return strings.Join(parts, "\n\n")
}

func text(i sdk.ResponseOutputItemUnion) string {
	var s string
	for _, c := range i.Content {
		s += c.Text + c.Refusal
	}
	return s
}

func (a *answer) close(status string, r sdk.Response) {
	a.status, a.reason = status, r.IncompleteDetails.Reason
	if a.id == "" {
		a.id = r.ID
	}
	if status == "failed" {
		a.trouble = `{"error":` + object(r.Error.RawJSON()) + `}`
	}
	if !r.JSON.Usage.Valid() {
		return
	}
	cached, written := int(r.Usage.InputTokensDetails.CachedTokens), int(r.Usage.InputTokensDetails.CacheWriteTokens)
	a.usage = wire.Usage{
		Input:      max(0, int(r.Usage.InputTokens)-cached-written),
		Output:     int(r.Usage.OutputTokens),
		CacheRead:  cached,
		CacheWrite: written,
	}
	a.usage.Total = a.usage.Input + a.usage.Output + cached + written
	a.model.Price.Cost(&a.usage)
}

// object is raw, or an empty object in the place of nothing.
func object(raw string) string {
	if raw == "" {
		return "{}"
	}
	return raw
}

// end returns the message, and err as it is.
func (a *answer) end(err error) (wire.Message, error) {
	m := wire.Message{
		Role: wire.Assistant, API: a.model.API, Provider: a.model.Provider, Model: a.model.ID,
		ResponseID: a.id, Usage: &a.usage, Timestamp: time.Now().UnixMilli(),
	}
	whole := err == nil && a.signed()
	for _, it := range a.items {
		if part, ok := it.finish(err == nil); ok {
			if !whole {
				part = unsigned(part)
			}
			m.Content = append(m.Content, part)
		}
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		m.StopReason = wire.StopAborted
	case err != nil:
		m.StopReason, m.ErrorMessage = wire.StopError, err.Error()
	case a.status == "incomplete":
		m.StopReason = wire.StopLength
	case len(m.Calls()) > 0:
		m.StopReason = wire.StopToolUse
	default:
		m.StopReason = wire.StopEnd
	}
	return m, err
}

// signed reports whether all that the model thought can be given back to it.
func (a *answer) signed() bool {
	for _, it := range a.items {
		if it.part.Type == wire.Thinking && it.part.ThinkingSignature == "" {
			return false
		}
	}
	return true
}

// finish returns the item's part. Of an answer that broke off, a tool call
// counts only if it had come to its end.
func (it *item) finish(whole bool) (wire.Part, bool) {
	p := it.part
	switch p.Type {
	case wire.Text:
		p.Text = it.text.String()
		return p, p.Text != ""
	case wire.Thinking:
		p.Thinking = it.text.String()
		return p, p.Thinking != "" || p.ThinkingSignature != ""
	}
	p.Arguments = protocol.Arguments(it.text.String())
	return p, whole || it.done && protocol.IsObject(p.Arguments)
}

// unsigned is p without what goes back to the model that made it.
func unsigned(p wire.Part) wire.Part {
	p.ThinkingSignature, p.TextSignature, p.ThoughtSignature, p.Redacted = "", "", "", false
	return p
}
