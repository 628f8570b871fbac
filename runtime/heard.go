package runtime

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// The bounds of what a session is told of the chat at once, in bytes.
const (
	maxHeardLine = 4 << 10
	maxHeard     = 64 << 10
)

// ourName is what the chat's lines of ours are attributed to.
const ourName = "bot"

const (
	heardHead = "Said in this chat before the message below, and not seen by you yet, oldest first. It tells you what has been going on, and asks nothing of you. A message of several lines goes on indented."
	heardMore = " Older messages are left out."
)

// heard is what the session is to be told of the chat before its next run, and
// the last record of which it then knows.
func (s *Session) heard(ctx context.Context, row store.Session) (text string, upto int64) {
	var u store.Unheard
	err := s.c.use(ctx, func(db *store.DB) (err error) { u, err = db.Unheard(ctx, row, time.Now()); return err })
	if err != nil {
		s.c.rt.log.Warn("what was said in the chat is told with the next prompt", "office", s.c.Address.String(), "session", s.name, "err", err)
		return "", 0
	}
	return heardText(u), u.Upto
}

// heardText is what a model gets of the chat: a line for each message, never a
// turn, since nobody has said it to the model, nor the model to anybody.
func heardText(u store.Unheard) string {
	var lines []string
	room, more := maxHeard, u.More
	for i := len(u.Lines) - 1; i >= 0; i-- {
		line := heardLine(u.Lines[i])
		if line == "" {
			continue
		}
		if room -= len(line) + 1; room < 0 {
			more = true
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(heardHead)
	if more {
		b.WriteString(heardMore)
	}
	b.WriteByte('\n')
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
		b.WriteByte('\n')
	}
	return b.String()
}

// heardLine is one message with who has said it, or nothing if it says nothing.
func heardLine(l store.Line) string {
	text := strings.TrimSpace(l.Text)
	if l.Ours {
		text = unsigned(text)
	}
	if len(text) > maxHeardLine {
		text = strings.ToValidUTF8(text[:maxHeardLine], "") + "…"
	}
	switch {
	case l.Change == wire.Deleted:
		text = "deleted: the message of " + l.First.Format("2006-01-02 15:04:05-07:00")
	case text == "":
		return ""
	case l.Change == wire.Edited:
		text = "edited: " + text
	}
	return harness.SaidLine(l.Time, speaker(l), text)
}

// speaker is to whom a line is attributed. Nobody else has our name.
func speaker(l store.Line) string {
	switch {
	case l.Ours:
		return ourName
	case l.Name == "":
		return l.User
	case strings.EqualFold(strings.TrimFunc(l.Name, notInName), ourName):
		return l.Name + " (" + l.User + ")"
	}
	return l.Name
}

func notInName(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// signature is the line that ends an answer with who has asked for it.
var signature = regexp.MustCompile(`(?:^|\n)[ \t]*_Triggered by (?:@|\[event: )[^\n]*$`)

// unsigned is text without the signatures at its end.
func unsigned(text string) string {
	for {
		at := signature.FindStringIndex(text)
		if at == nil {
			return text
		}
		text = strings.TrimSpace(text[:at[0]])
	}
}
