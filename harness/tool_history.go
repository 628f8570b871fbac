package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mikan/wire"
)

// Past is what an office remembers, as the tool history asks for it. Lists are
// given newest first. What is asked for in vain, a session or an entry, is an
// error whose text says what there is.
type Past interface {
	// Sessions lists the sessions, those that were put away too.
	Sessions(ctx context.Context, limit, skip int) ([]PastSession, error)
	// Search finds the entries of a session, or of all if none is named, that
	// have all the words of query.
	Search(ctx context.Context, query, session string, limit, skip int) ([]PastEntry, error)
	// Entries gives the entries of a session's transcript, of every branch. If
	// an entry is named, the first page is the one around it.
	Entries(ctx context.Context, session, around string, limit, skip int) ([]PastEntry, error)
	// Chat gives the records of the chat, those that have all the words of query
	// if there is one.
	Chat(ctx context.Context, query string, limit, skip int) ([]wire.Record, error)
}

// PastSession is a session of the office.
type PastSession struct {
	Name, ID, Title string
	Changed         time.Time
	Archived        bool
	Current         bool // the one that asks
}

// PastEntry is an entry with the name of the session that it was written in.
type PastEntry struct {
	Session string
	wire.Entry
}

const historySchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"action":{"type":"string","enum":["sessions","search","read","chat"],"description":"sessions: list them. search: find entries of transcripts. read: a session's entries. chat: what was said in the chat"},` +
	`"query":{"type":"string","description":"search, chat: words that must all be there, each as written. read: the id of an entry, to read around it"},` +
	`"session":{"type":"string","description":"A session's name, the beginning of its id (8 characters or more), or current"},` +
	`"limit":{"type":"number","description":"How many to show: 20 if not given, 200 at most"},` +
	`"skip":{"type":"number","description":"How many of the newest to leave out"}},` +
	`"required":["label","action"],"additionalProperties":false}`

// HistoryTool is the tool with which an agent looks at what an office remembers.
func HistoryTool(p Past) Tool {
	return Tool{
		ToolSpec: ToolSpec{
			Name: wire.ToolHistory,
			Description: "Look up what this office remembers: its sessions, also from before they started afresh or were compacted, and its chat. " +
				"The newest come first in sessions and search, last in read and chat. Long entries are shown in part.",
			Schema: json.RawMessage(historySchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			text, err := lookUp(ctx, p, args)
			return Result{Content: []wire.Part{wire.TextPart(text)}}, err
		},
	}
}

// The limits of the tool history.
const (
	historyLimit    = 20
	maxHistoryLimit = 200
	maxHistoryEntry = 2000   // characters of one entry
	maxHistory      = 30_000 // characters in all
)

type historyArgs struct {
	Action  string `json:"action"`
	Query   string `json:"query"`
	Session string `json:"session"`
	Limit   number `json:"limit"`
	Skip    number `json:"skip"`
}

func lookUp(ctx context.Context, p Past, args json.RawMessage) (string, error) {
	var a historyArgs
	if err := decode(args, &a); err != nil {
		return "", err
	}
	items, err := a.items(ctx, p)
	if err != nil {
		return "", err
	}
	return a.page(items), nil
}

func (a historyArgs) limit() int { return min(a.Limit.or(historyLimit), maxHistoryLimit) }
func (a historyArgs) skip() int  { return a.Skip.or(0) }

// items is what was asked for, newest first, as text.
func (a historyArgs) items(ctx context.Context, p Past) ([]string, error) {
	switch a.Action {
	case "sessions":
		list, err := p.Sessions(ctx, a.limit(), a.skip())
		return render(list, sessionText), err
	case "search":
		if strings.TrimSpace(a.Query) == "" {
			return nil, fmt.Errorf("bad arguments: search needs a query")
		}
		list, err := p.Search(ctx, a.Query, a.Session, a.limit(), a.skip())
		return render(list, func(e PastEntry) string { return entryText(e, a.Query) }), err
	case "read":
		if a.Session == "" {
			return nil, fmt.Errorf("bad arguments: read needs a session; the action sessions lists them")
		}
		list, err := p.Entries(ctx, a.Session, a.Query, a.limit(), a.skip())
		return render(list, func(e PastEntry) string { return entryText(e, "") }), err
	case "chat":
		list, err := p.Chat(ctx, a.Query, a.limit(), a.skip())
		return render(list, func(r wire.Record) string { return recordText(r, a.Query) }), err
	}
	return nil, fmt.Errorf("bad arguments: no action %q; the actions are sessions, search, read and chat", a.Action)
}

func render[T any](list []T, text func(T) string) []string {
	var all []string
	for _, x := range list {
		all = append(all, clip(strings.TrimSpace(text(x)), maxHistoryEntry+500))
	}
	return all
}

// page puts as many items as fit into one text, and says how to go on.
func (a historyArgs) page(items []string) string {
	if len(items) == 0 {
		return "Nothing found."
	}
	n, size := 0, 0
	for _, item := range items {
		if size += len([]rune(item)) + 2; size > maxHistory-200 && n > 0 {
			break
		}
		n++
	}
	shown := items[:n]
	if a.Action == "read" || a.Action == "chat" {
		slices.Reverse(shown)
	}
	text := strings.Join(shown, "\n\n")
	if n < len(items) || n == a.limit() {
		text += fmt.Sprintf("\n\n[%d shown; for older ones give skip %d]", n, a.skip()+n)
	}
	return text
}
