package wire

import (
	"encoding/json"
	"fmt"
	"time"
)

// Seen is the message that a model sees for e, if e is one that it sees: a
// summary or a custom message is one of the user.
func (e Entry) Seen() (m Message, ok bool) {
	switch e.Type {
	case EntryMessage:
		if e.Message == nil {
			return m, false
		}
		return *e.Message, true
	case EntryCompact:
		return SummaryMessage(e), true
	case EntryBranch:
		return e.userMessage(TextPart(branchHead + e.Summary + summaryTail)), e.Summary != ""
	case EntryAside:
		parts, err := Parts(e.Content)
		return e.userMessage(parts...), err == nil && len(parts) > 0
	}
	return m, false
}

func (e Entry) userMessage(parts ...Part) Message {
	m := Message{Role: User, Content: parts}
	if at, err := time.Parse(stampLayout, e.Timestamp); err == nil {
		m.Timestamp = at.UnixMilli()
	}
	return m
}

const branchHead = "The conversation came back from another branch, of which this is a summary:\n\n<summary>\n"

// Parts reads a content, which is a list of parts, or a text.
func Parts(content json.RawMessage) ([]Part, error) {
	var text string
	if len(content) > 0 && content[0] == '"' {
		err := json.Unmarshal(content, &text)
		return []Part{TextPart(text)}, err
	}
	var parts []Part
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	return parts, nil
}
