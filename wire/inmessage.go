package wire

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// InMessage is a message as an adapter writes it to in.
type InMessage struct {
	ID           string         `json:"id"`                // of the delivery: the same when it is delivered again
	Conversation string         `json:"conversation"`      // the platform's raw id
	Kind         ChatKind       `json:"kind,omitempty"`    // none: shared
	Session      string         `json:"session,omitempty"` // the session key; none: see [InMessage.Complete]
	TS           string         `json:"ts"`                // the platform's id of the message
	Thread       string         `json:"thread,omitempty"`  // the id of the message whose thread it is in
	Reply        string         `json:"reply,omitempty"`   // the thread that the answer goes to; none: see [InMessage.Complete]
	User         string         `json:"user"`
	UserName     string         `json:"userName,omitempty"`
	DisplayName  string         `json:"displayName,omitempty"`
	Text         string         `json:"text"`
	Change       MessageChange  `json:"change,omitempty"`
	Bot          bool           `json:"bot,omitempty"`    // another bot wrote it: for the log alone
	Silent       bool           `json:"silent,omitempty"` // for the log alone: it asks for no answer
	Attachments  []InAttachment `json:"attachments,omitempty"`
}

// ChatKind says whether others read along.
type ChatKind string

// The kinds of conversation.
const (
	Direct ChatKind = "direct"
	Shared ChatKind = "shared"
)

// MessageChange says that a message is an earlier one that was changed. That is
// recorded; it asks for no answer.
type MessageChange string

// The changes of a message.
const (
	Edited  MessageChange = "edited"  // text is the new one
	Deleted MessageChange = "deleted" // there is no text
)

// InAttachment is a file that came with a message and has not been fetched.
type InAttachment struct {
	Name string `json:"name"`
	Ref  string `json:"ref"` // for the operation fetch
}

// maxID is the longest id that a platform gives, in bytes.
const maxID = 1024

// Check reports what is wrong with a message: an id that is missing or is none,
// a session key of another conversation.
func (m InMessage) Check() error {
	ids := []struct {
		field, id string
		needed    bool
	}{
		{"id", m.ID, true}, {"conversation", m.Conversation, true}, {"ts", m.TS, true}, {"user", m.User, true},
		{"session", m.Session, false}, {"thread", m.Thread, false}, {"reply", m.Reply, false},
		{"userName", m.UserName, false}, {"displayName", m.DisplayName, false},
	}
	for _, x := range ids {
		switch {
		case x.id == "" && x.needed:
			return fmt.Errorf("a message needs %s", x.field)
		case len(x.id) > maxID:
			return fmt.Errorf("%s: longer than %d bytes", x.field, maxID)
		case !utf8.ValidString(x.id) || strings.ContainsFunc(x.id, unicode.IsControl):
			return fmt.Errorf("%s: %q: an id has no control character", x.field, x.id)
		}
	}
	switch {
	case m.Kind != "" && m.Kind != Direct && m.Kind != Shared:
		return fmt.Errorf("kind: %q: want %s or %s", m.Kind, Direct, Shared)
	case m.Change != "" && m.Change != Edited && m.Change != Deleted:
		return fmt.Errorf("change: %q: want %s or %s", m.Change, Edited, Deleted)
	case m.Answered() && strings.TrimSpace(m.Text) == "" && len(m.Attachments) == 0:
		return errors.New("text: there is none, and nothing else to answer")
	}
	if m.Session != "" {
		if _, ok := SessionKeySuffix(m.Conversation, m.Session); !ok {
			return fmt.Errorf("session: the key %q does not belong to the conversation %q; want %[2]q or %[2]q with a colon and a suffix", m.Session, m.Conversation)
		}
	}
	return nil
}

// Answered reports whether the message asks for an answer.
func (m InMessage) Answered() bool { return !m.Silent && !m.Bot && m.Change == "" }

// Complete gives a message what it leaves out. A direct conversation has one
// session, and one for each thread; a shared one a session for each thread, and
// a message outside of all begins one. The answer goes to the thread of the
// session, if it has one.
func (m InMessage) Complete() InMessage {
	if m.Kind == "" {
		m.Kind = Shared
	}
	if m.Session == "" {
		m.Session = SessionKey(m.Conversation, m.Thread)
		if m.Thread == "" && m.Kind == Shared {
			m.Session = SessionKey(m.Conversation, m.TS)
		}
	}
	if m.Reply == "" {
		m.Reply = m.Thread
		if suffix, _ := SessionKeySuffix(m.Conversation, m.Session); m.Thread == "" && suffix == m.TS {
			m.Reply = m.TS
		}
	}
	return m
}
