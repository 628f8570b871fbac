package v3

import (
	"encoding/json"
	"fmt"
	"slices"

	"mikan/wire"
)

// said is a message as a file has it: its content may be a plain text.
type said struct {
	wire.Message
	Content json.RawMessage `json:"content"`
}

// see finds what a model sees of e.
func (e *entry) see() (err error) {
	if e.Type == wire.EntryAside {
		if _, err := wire.Parts(e.Content); err != nil {
			return err
		}
	}
	if e.Type != wire.EntryMessage {
		e.message, e.seen = e.Seen()
		return nil
	}
	if e.Said == nil {
		return fmt.Errorf("a message without a message")
	}
	m := e.Said.Message
	if m.Content, err = wire.Parts(e.Said.Content); err != nil {
		return err
	}
	switch m.Role {
	case wire.User, wire.Assistant, wire.ToolResult:
	case "custom", "hookMessage": // what an extension told the model
		m = wire.Message{Role: wire.User, Content: m.Content, Timestamp: m.Timestamp}
	default:
		return fmt.Errorf("a message of the unknown role %.40q", m.Role)
	}
	e.message, e.seen, e.Said = m, true, nil
	return nil
}

// settle puts the branch in order and notes what was chosen on it.
func (s *Session) settle() {
	slices.Reverse(s.branch)
	s.Thinking = "off"
	for _, e := range s.branch {
		switch {
		case e.Type == wire.EntryThinking:
			s.Thinking = e.ThinkingLevel
		case e.Type == wire.EntryModel:
			s.Provider, s.Model = e.Provider, e.ModelID
		case e.seen && e.message.Role == wire.Assistant:
			s.Provider, s.Model = e.message.Provider, e.message.Model
		}
	}
}

// Context returns the messages on the branch in use, or the summary of its newest
// compaction, what that has kept, and what came later. The usage of what was kept
// is left out: it counts a context that is no more.
func (s *Session) Context() []wire.Message {
	at := len(s.branch) - 1
	for at >= 0 && s.branch[at].Type != wire.EntryCompact {
		at--
	}
	var msgs []wire.Message
	if at >= 0 {
		msgs = append(msgs, s.branch[at].message)
		kept := slices.IndexFunc(s.branch[:at], func(e *entry) bool { return e.ID == s.branch[at].FirstKept })
		if kept >= 0 {
			for _, m := range seen(s.branch[kept:at]) {
				m.Usage = nil
				msgs = append(msgs, m)
			}
		}
	}
	return append(msgs, seen(s.branch[at+1:])...)
}

// seen is what a model sees of some entries; a compaction is not for it.
func seen(list []*entry) (msgs []wire.Message) {
	for _, e := range list {
		if e.seen && e.Type != wire.EntryCompact {
			msgs = append(msgs, e.message)
		}
	}
	return msgs
}

// Visible is [Session.Context] without the replies that failed or were aborted,
// and without the results of their calls.
func (s *Session) Visible() []wire.Message {
	var msgs []wire.Message
	dropped := map[string]bool{}
	for _, m := range s.Context() {
		switch {
		case m.Role == wire.Assistant && (m.StopReason == wire.StopError || m.StopReason == wire.StopAborted):
			for _, c := range m.Calls() {
				dropped[c.ID] = true
			}
			continue
		case m.Role == wire.ToolResult && dropped[m.ToolCallID]:
			continue
		}
		for _, c := range m.Calls() {
			delete(dropped, c.ID) // the id is used again
		}
		msgs = append(msgs, m)
	}
	return msgs
}
