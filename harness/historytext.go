package harness

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mikan/wire"
)

// sessionText is a session in a list.
func sessionText(s PastSession) string {
	text := fmt.Sprintf("%s (id %s), last changed %s", s.Name, s.ID, clock(s.Changed))
	if s.Title != "" {
		text += ": " + excerptOf(s.Title, "")
	}
	if s.Current {
		text += " [current]"
	}
	if s.Archived {
		text += " [archived]"
	}
	return text
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// entryText is an entry, in the part of it where query is found.
func entryText(e PastEntry, query string) string {
	at := e.Timestamp
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at = clock(t)
	}
	return fmt.Sprintf("[%s] %s %s %s", at, e.Session, e.ID, excerptOf(said(e.Entry), query))
}

// said is what an entry holds for a reader.
func said(e wire.Entry) string {
	switch e.Type {
	case wire.EntryMessage:
		if e.Message != nil {
			return messageText(*e.Message)
		}
	case wire.EntryCustom:
		if e.CustomType == wire.CustomReset {
			return "the session started afresh"
		}
		return e.CustomType + " " + string(e.Data)
	case wire.EntryCompact, wire.EntryBranch:
		return "summary: " + e.Summary
	case wire.EntryLabel:
		return fmt.Sprintf("label of %s: %s", e.TargetID, e.Label)
	case wire.EntryInfo:
		return "title: " + e.Name
	case wire.EntryModel:
		return "model: " + e.Provider + "/" + e.ModelID
	case wire.EntryThinking:
		return "thinking: " + e.ThinkingLevel
	}
	if m, ok := e.Seen(); ok {
		return messageText(m)
	}
	return e.Type
}

// messageText is a message: who says it, its text, its tool calls.
func messageText(m wire.Message) string {
	who := m.Role
	if m.Role == wire.ToolResult {
		who = "result of " + m.ToolName
	}
	var parts []string
	for _, p := range m.Content {
		switch p.Type {
		case wire.Text:
			parts = append(parts, p.Text)
		case wire.Image:
			parts = append(parts, "[image]")
		case wire.ToolCall:
			parts = append(parts, fmt.Sprintf("[calls %s %s]", p.Name, p.Arguments))
		}
	}
	return who + ": " + strings.Join(parts, "\n")
}

// recordText is a record of the chat, in the part of it where query is found.
func recordText(r wire.Record, query string) string {
	at := r.Date
	if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
		at = clock(t)
	}
	who := r.UserName
	if who == "" {
		who = r.User
	}
	if r.ThreadTS != "" {
		who += " in thread " + r.ThreadTS
	}
	if r.Change != "" {
		who += " (" + string(r.Change) + ")"
	}
	text := r.Text
	for _, a := range r.Attachments {
		text += "\n[attachment " + a.Name + "]"
	}
	return fmt.Sprintf("[%s] %s %s: %s", at, r.TS, who, excerptOf(text, query))
}

// maxWord is how many characters of a word are looked for: each costs a look at
// the whole text.
const maxWord = 64

// excerptOf is s, or of a long one the beginning, or the part around the first
// word of query. No character is torn.
func excerptOf(s, query string) string {
	if utf8.RuneCountInString(s) <= maxHistoryEntry {
		return s
	}
	start := 0
	if word, _, _ := strings.Cut(strings.TrimSpace(query), " "); word != "" {
		word = string([]rune(word)[:min(maxWord, utf8.RuneCountInString(word))])
		if i := foundAt(s, word); i > maxHistoryEntry/2 {
			start = whole(s, i-maxHistoryEntry/4)
		}
	}
	text := clip(s[start:], maxHistoryEntry-1)
	if start > 0 {
		text = "…" + text
	}
	return text
}

// clip is at most n characters of the beginning of s, none of them torn.
func clip(s string, n int) string {
	end := 0
	for left := n; left > 1 && end < len(s); left-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if utf8.RuneCountInString(s[end:]) <= 1 {
		return s
	}
	for end > 0 && joined(s, end) {
		_, size := utf8.DecodeLastRuneInString(s[:end])
		end -= size
	}
	return s[:end] + "…"
}

// foundAt is where word stands in s, in whatever case, or -1.
func foundAt(s, word string) int {
	for i := range s {
		if len(s)-i >= len(word) && strings.EqualFold(s[i:i+len(word)], word) {
			return i
		}
	}
	return -1
}
