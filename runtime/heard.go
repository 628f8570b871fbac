package runtime

import (
	"cmp"
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

// roomToHear is how much a model is told at once, in bytes: of a small window about
// a quarter.
func roomToHear(m harness.Model) int {
	if m.Window == 0 {
		return maxHeard
	}
	return min(maxHeard, m.Window) // a token has some four bytes
}

// ourName is what the chat's lines of ours are attributed to.
const ourName = "bot"

const (
	heardHead = "Said in this chat before the message below, and not seen by you yet, oldest first. It tells you what has been going on, and asks nothing of you. A message of several lines goes on indented."
	heardMore = " Older messages are left out."
)

// heard is what the session is to be told of the chat before its next run, and
// the last record of which it then knows.
func (s *Session) heard(ctx context.Context, row store.Session, room int) (text string, upto int64) {
	var u store.Unheard
	err := s.c.use(ctx, func(db *store.DB) (err error) { u, err = db.Unheard(ctx, row, time.Now()); return err })
	if err != nil {
		s.c.rt.log.Warn("what was said in the chat is told with the next prompt", "office", s.c.Address.String(), "session", s.name, "err", err)
		return "", 0
	}
	return heardText(u, room), u.Upto
}

// heardText is what a model gets of the chat: a line for each message, never a
// turn, since nobody has said it to the model, nor the model to anybody. What has no
// room is left out, the oldest first.
func heardText(u store.Unheard, room int) string {
	var lines []string
	more, longest := u.More, min(maxHeardLine, room/8) // a line grows where it is indented
	for i := len(u.Lines) - 1; i >= 0; i-- {
		line := heardLine(u.Lines[i], longest)
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
func heardLine(l store.Line, longest int) string {
	text := strings.TrimSpace(l.Text)
	if l.Ours {
		text = unsigned(text)
	}
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
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

// speaker is to whom a line is attributed. Nobody else has our name, nor one that
// is the same but for what is not seen of it.
func speaker(l store.Line) string {
	if l.Ours {
		return ourName
	}
	name := cmp.Or(l.Name, l.User)
	if bare := strings.Map(bareName, name); strings.EqualFold(bare, ourName) {
		return bare + " (" + l.User + ")"
	}
	return name
}

func bareName(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsDigit(r) {
		return r
	}
	return -1
}

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
