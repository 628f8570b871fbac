package wire

import (
	"strings"
	"time"
)

// The wording around a summary in the context.
const (
	summaryHead = "The conversation before this point was compacted into the following summary:\n\n<summary>\n"
	summaryTail = "\n</summary>"
)

// SummaryMessage is what a model sees of a compaction in the place of the
// messages that it stands for.
func SummaryMessage(e Entry) Message {
	m := Message{Role: User, Content: []Part{TextPart(summaryHead + e.Summary + summaryTail)}}
	if at, err := time.Parse(stampLayout, e.Timestamp); err == nil {
		m.Timestamp = at.UnixMilli()
	}
	return m
}

// SummaryOf returns the summary that m holds; ok is false if m is not of
// [SummaryMessage].
func SummaryOf(m Message) (summary string, ok bool) {
	text := m.PlainText()
	if m.Role != User || !strings.HasPrefix(text, summaryHead) || !strings.HasSuffix(text, summaryTail) {
		return "", false
	}
	return text[len(summaryHead) : len(text)-len(summaryTail)], true
}

// Compacted is a context after a compaction: the message of its summary and the
// messages that it kept, without their usage, which counts a context that is no
// more.
func Compacted(summary Message, kept []Message) []Message {
	msgs := append(make([]Message, 0, len(kept)+1), summary)
	for _, m := range kept {
		m.Usage = nil
		msgs = append(msgs, m)
	}
	return msgs
}

// The reasons of a compaction.
const (
	CompactThreshold = "threshold" // the context has nearly filled the model's window
	CompactOverflow  = "overflow"  // the model's server has said that it does not fit
	CompactManual    = "manual"    // a person wanted it
)
