package subagents

import (
	"slices"
	"strings"

	"mikan/wire"
)

// How much a subagent sees of the parent's conversation, in characters.
const (
	maxTurnText = 4000 // of each message
	maxSummary  = 16_000
)

// normalized writes the last turns of a conversation, from a person's message to
// the next, as plain text: what was said, without tools and reasoning, and before
// that the summary of what was compacted, if there is one.
func normalized(msgs []wire.Message, turns int) string {
	from := len(msgs)
	for i := len(msgs) - 1; i >= 0 && turns > 0; i-- {
		if _, summary := wire.SummaryOf(msgs[i]); msgs[i].Role == wire.User && !summary {
			from, turns = i, turns-1
		}
	}
	var b strings.Builder
	if s, ok := summaryIn(msgs); ok {
		b.WriteString("Summary: " + clip(s, maxSummary) + "\n\n")
	}
	for _, m := range msgs[from:] {
		if _, ok := wire.SummaryOf(m); ok {
			continue
		}
		who := map[string]string{wire.User: "User", wire.Assistant: "Agent"}[m.Role]
		text := strings.TrimSpace(spoken(m))
		if who == "" || text == "" {
			continue
		}
		b.WriteString(who + ": " + clip(text, maxTurnText) + "\n\n")
	}
	return strings.TrimSpace(b.String())
}

// spoken is what a message says: of a person's the last text, before which stand
// the notes that go with it.
func spoken(m wire.Message) string {
	if m.Role == wire.User {
		for _, p := range slices.Backward(m.Content) {
			if p.Type == wire.Text {
				return p.Text
			}
		}
	}
	return m.PlainText()
}

// summaryIn is the latest summary in a history.
func summaryIn(msgs []wire.Message) (summary string, ok bool) {
	for i := len(msgs) - 1; i >= 0 && !ok; i-- {
		summary, ok = wire.SummaryOf(msgs[i])
	}
	return summary, ok
}
