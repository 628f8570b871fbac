package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mikan/wire"
)

// office is a past that is made up.
type office struct {
	entries []PastEntry
	records []wire.Record
	asked   string // the last question
}

func (o *office) Sessions(_ context.Context, limit, skip int) ([]PastSession, error) {
	o.asked = fmt.Sprint("sessions ", limit, skip)
	return []PastSession{
		{Name: "main", ID: "0190a1b2-c3d4", Title: "plants", Changed: time.Unix(0, 0), Current: true},
		{Name: "old", ID: "0190a1b2-ffff", Changed: time.Unix(60, 0), Archived: true},
	}, nil
}

func (o *office) Search(_ context.Context, query, session string, limit, skip int) ([]PastEntry, error) {
	o.asked = fmt.Sprintf("search %q %q %d %d", query, session, limit, skip)
	return o.entries, nil
}

func (o *office) Entries(_ context.Context, session, around string, limit, skip int) ([]PastEntry, error) {
	o.asked = fmt.Sprintf("entries %q %q %d %d", session, around, limit, skip)
	if session == "nothere" {
		return nil, errors.New("no such session")
	}
	return o.entries, nil
}

func (o *office) Chat(_ context.Context, query string, limit, skip int) ([]wire.Record, error) {
	o.asked = fmt.Sprintf("chat %q %d %d", query, limit, skip)
	return o.records, nil
}

func entry(id string, m wire.Message) PastEntry {
	return PastEntry{"main", wire.Entry{Type: wire.EntryMessage, ID: id, Timestamp: "2026-07-01T02:00:00.000Z", Message: &m}}
}

func askHistory(o *office, args string) (string, error) {
	r, err := HistoryTool(o).Run(context.Background(), json.RawMessage(args), func(string) {})
	return plain(r), err
}

func TestHistory(t *testing.T) {
	o := &office{
		entries: []PastEntry{
			entry("00000002", wire.Message{Role: wire.Assistant, Content: []wire.Part{
				{Type: wire.Thinking, Thinking: "hidden"}, wire.TextPart("looking"), call("a", "bash", `{"command":"ls"}`),
			}}),
			{"main", wire.Entry{Type: wire.EntryCustom, ID: "00000001", CustomType: wire.CustomReset, Timestamp: "2026-07-01T01:00:00.000Z"}},
		},
		records: []wire.Record{{Date: "2026-07-01T02:00:00.000Z", TS: "17", User: "5", UserName: "ann", Text: "list files", Attachments: []wire.Attachment{{Name: "a.pdf"}}}},
	}
	for _, tt := range []struct{ args, asked, want string }{
		{`{"action":"sessions"}`, "sessions 20 0",
			"main (id 0190a1b2-c3d4), last changed 1970-01-01 00:00 UTC: plants [current]\n\nold (id 0190a1b2-ffff), last changed 1970-01-01 00:01 UTC [archived]"},
		{`{"action":"search","query":"ls","limit":"500","skip":3}`, `search "ls" "" 200 3`,
			"[2026-07-01 02:00 UTC] main 00000002 assistant: looking\n[calls bash {\"command\":\"ls\"}]\n\n[2026-07-01 01:00 UTC] main 00000001 the session started afresh"},
		{`{"action":"read","session":"current","query":"00000001","limit":2}`, `entries "current" "00000001" 2 0`,
			"[2026-07-01 01:00 UTC] main 00000001 the session started afresh\n\n[2026-07-01 02:00 UTC] main 00000002 assistant: looking\n[calls bash {\"command\":\"ls\"}]\n\n[2 shown; for older ones give skip 2]"},
		{`{"action":"chat","limit":-1}`, `chat "" 20 0`, "[2026-07-01 02:00 UTC] 17 ann: list files\n[attachment a.pdf]"},
	} {
		got, err := askHistory(o, tt.args)
		if err != nil || got != tt.want || o.asked != tt.asked {
			t.Errorf("%s: %s, %v\n%s\nwant\n%s", tt.args, o.asked, err, got, tt.want)
		}
	}
	for args, want := range map[string]string{
		`{}`:                                    "no action",
		`{"action":"delete"}`:                   `no action "delete"; the actions are`,
		`{"action":"search"}`:                   "needs a query",
		`{"action":"read"}`:                     "needs a session",
		`{"action":"read","session":"nothere"}`: "no such session",
		`{"action":7}`:                          "bad arguments",
	} {
		if _, err := askHistory(o, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
	if got, err := askHistory(&office{}, `{"action":"search","query":"x"}`); err != nil || got != "Nothing found." {
		t.Errorf("%q, %v", got, err)
	}
}

// Whatever is remembered, a result keeps its limits, tears no character, and says
// how to go on where it leaves something out.
func TestHistory_keeps_its_limits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := &office{}
		unit := rapid.SampledFrom([]string{"x", "日本", "👨‍👩‍👧", "e\u0301", "\r\n"}).Draw(rt, "unit")
		n := rapid.IntRange(1, 200).Draw(rt, "entries")
		for i := range n {
			text := strings.Repeat(unit, rapid.IntRange(0, 1500).Draw(rt, "length"))
			if i == 0 {
				text += "needle" + text
			}
			o.entries = append(o.entries, entry(fmt.Sprintf("%08x", i), wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}))
			o.records = append(o.records, wire.Record{UserName: text, Text: text})
		}
		for _, args := range []string{`{"action":"search","query":"NEEDLE"}`, `{"action":"read","session":"x","limit":200}`, `{"action":"chat"}`} {
			got, err := askHistory(o, args)
			if err != nil || utf8.RuneCountInString(got) > maxHistory {
				rt.Fatalf("%s: %d characters, %v", args, utf8.RuneCountInString(got), err)
			}
			for part := range strings.SplitSeq(got, "\n\n") {
				if utf8.RuneCountInString(part) > maxHistoryEntry+500 {
					rt.Fatalf("%s: an entry has %d characters", args, utf8.RuneCountInString(part))
				}
				if cut, ok := strings.CutSuffix(part, "…"); ok && strings.HasSuffix(cut, joinerText) {
					rt.Fatalf("%s: a character is torn: %q", args, cut[len(cut)-20:])
				}
			}
			if strings.Contains(args, "NEEDLE") && !strings.Contains(got, "needle") {
				rt.Fatalf("the part where the query is found is not shown: %.100q", got)
			}
			if last := o.entries[n-1].ID; strings.Contains(args, "NEEDLE") && !strings.Contains(got, last) && !strings.Contains(got, "give skip") {
				rt.Fatalf("entries are left out without a word")
			}
		}
	})
}

const joinerText = string(joiner)

// The work of an excerpt is bounded, however long the words of the query are.
func TestExcerpt_looks_for_the_beginning_of_a_word(t *testing.T) {
	s := strings.Repeat("a", 1<<20)
	if got := excerptOf(s+"日本"+s, "日本"); !strings.Contains(got, "日本") {
		t.Error("what was looked for is not shown")
	}
	if got := excerptOf(s+strings.Repeat("語", maxWord)+s, strings.Repeat("語", 50<<10)); !strings.Contains(got, "語") {
		t.Error("the beginning of a word is not shown")
	}
	excerptOf(s, strings.Repeat("a", 50<<10)+"b")
}
