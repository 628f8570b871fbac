package store

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mikan/wire"
)

// idOf returns the id of the entry whose line has a text.
func idOf(t testing.TB, data []byte, text string) string {
	t.Helper()
	for line := range strings.Lines(string(data)) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, text) {
			return e.ID
		}
	}
	t.Fatalf("no entry has %q", text)
	return ""
}

func saidIn(t testing.TB, db *DB, session int64) (texts []string) {
	t.Helper()
	msgs, err := db.Messages(context.Background(), session)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range msgs {
		texts = append(texts, m.PlainText())
	}
	return texts
}

func TestFork_from_an_entry_of_a_branch_that_is_not_in_use(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	for _, text := range []string{"a", "b", "c"} {
		if err := db.Append(ctx, s.ID, []wire.Message{user(text)}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	p, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt})
	if err == nil {
		err = db.Begin(ctx, p.ID, []Prompt{p}, nil, Told{System: "old"}, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Renew(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := db.Next(ctx, s.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	told := Told{System: "new"}
	if p, _, err = db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt}); err == nil {
		err = db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user("d")}, told, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
	data := transcript(t, db, s.ID, 100)
	f, err := db.Fork(ctx, "main", idOf(t, data, `"text":"b"`), "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := saidIn(t, db, f.ID); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("the fork has %q", got)
	}
	if f.System != "" {
		t.Errorf("the fork has the system prompt of another branch: %q", f.System)
	}
	// A fork of the fork, from what that has inherited.
	g, err := db.Fork(ctx, "side", idOf(t, data, `"text":"a"`), "side2", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if got := saidIn(t, db, g.ID); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("the fork of the fork has %q", got)
	}
	for _, entry := range []string{"0000ffff", "b", "0000000Z", "1", "+0000001", idOf(t, data, `"text":"d"`) + "0"} {
		if _, err := db.Fork(ctx, "main", entry, "x", "/office", time.Now()); !errors.Is(err, ErrNoEntry) {
			t.Errorf("fork from %q: %v, want %v", entry, err, ErrNoEntry)
		}
	}
	if _, err := db.Fork(ctx, "side", idOf(t, data, `"text":"c"`), "x", "/office", time.Now()); !errors.Is(err, ErrNoEntry) {
		t.Errorf("from an entry that the fork did not inherit: %v", err)
	}
}

// A fork from an older entry goes on with the model that its session uses now, and
// its transcript says so.
func TestFork_keeps_what_was_chosen(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if err := db.Append(ctx, s.ID, []wire.Message{user("a")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	model, level := "open/router/m", "high"
	if err := db.ChangeSession(ctx, s.ID, Change{Model: &model, Thinking: &level}, time.Now()); err != nil {
		t.Fatal(err)
	}
	f, err := db.Fork(ctx, "main", "00000001", "side", "/office", time.Now())
	if err != nil || f.Model != model || f.Thinking != level {
		t.Fatalf("%+v, %v", f, err)
	}
	list, err := db.Entries(ctx, f.ID, "", Page{Limit: 2})
	if err != nil || list[0].ThinkingLevel != level || list[1].Provider != "open" || list[1].ModelID != "router/m" {
		t.Fatalf("%+v, %v", list, err)
	}
}

func TestFork_says_where_it_comes_from(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if err := db.Append(ctx, s.ID, []wire.Message{user("a")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	f, err := db.Fork(ctx, "main", "00000001", "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	parent, err := headerOf(ctx, db.sql, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	h, err := headerOf(ctx, db.sql, f.ID)
	if err != nil || h.ParentSession != parent.ID {
		t.Fatalf("header %+v, %v", h, err)
	}
	list, err := db.Entries(ctx, f.ID, "", Page{Limit: 2})
	if err != nil || len(list) != 2 || list[0].Type != wire.EntryInfo || list[1].CustomType != wire.CustomFork {
		t.Fatal(list, err)
	}
	var p wire.ForkPoint
	if err := json.Unmarshal(list[1].Data, &p); err != nil || p != (wire.ForkPoint{Session: "main", SessionID: parent.ID, Entry: "00000001"}) {
		t.Fatalf("%+v, %v", p, err)
	}
}

// Wherever in a batch of tools a session is forked, each call of the fork has one
// result, in order, and the session itself stays as it is.
func TestFork_inside_a_batch_closes_its_calls(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	call := func(id string) wire.Part {
		return wire.Part{Type: wire.ToolCall, ID: id, Name: "bash", Arguments: json.RawMessage(`{}`)}
	}
	result := func(id string) wire.Message {
		return wire.Message{Role: wire.ToolResult, ToolCallID: id, ToolName: "bash", Content: []wire.Part{wire.TextPart("done " + id)}}
	}
	msgs := []wire.Message{
		user("go"),
		{Role: wire.Assistant, Content: []wire.Part{call("a"), call("b"), call("c")}},
		result("a"), result("b"), result("c"),
		{Role: wire.Assistant, Content: []wire.Part{wire.TextPart("end")}},
	}
	if err := db.Append(ctx, s.ID, msgs, time.Now()); err != nil {
		t.Fatal(err)
	}
	before := transcript(t, db, s.ID, 100)
	for at, made := range map[int]int{1: 0, 2: 3, 3: 2, 4: 1, 5: 0, 6: 0} {
		f, err := db.Fork(ctx, "main", entryID(int64(at)), "fork"+entryID(int64(at)), "/office", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.Messages(ctx, f.ID)
		if err != nil || len(got) != at+made {
			t.Fatalf("forked at %d: %d messages, %v; want %d and %d", at, len(got), err, at, made)
		}
		for i, m := range got[at:] {
			if want := []string{"a", "b", "c"}[3-made+i]; m.ToolCallID != want || !m.IsError || m.PlainText() != notInherited {
				t.Errorf("forked at %d: made up %+v, want a result of %s", at, m, want)
			}
		}
		if row, err := db.Session(ctx, f.Name); err != nil || row.settled != row.leaf {
			t.Errorf("forked at %d: settled at %d of %d, %v", at, row.settled, row.leaf, err)
		}
	}
	if string(transcript(t, db, s.ID, 100)) != string(before) {
		t.Error("the session that was forked has changed")
	}
}

func TestLabel_is_an_entry_of_its_own(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if err := db.Append(ctx, s.ID, []wire.Message{user("a")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"a good one", ""} {
		if err := db.LabelEntry(ctx, s.ID, "00000001", label, time.Now()); err != nil {
			t.Fatal(err)
		}
		list, err := db.Entries(ctx, s.ID, "", Page{Limit: 1})
		if err != nil || list[0].Type != wire.EntryLabel || list[0].TargetID != "00000001" || list[0].Label != label {
			t.Fatalf("%+v, %v", list, err)
		}
	}
	if err := db.LabelEntry(ctx, s.ID, "0000000f", "x", time.Now()); !errors.Is(err, ErrNoEntry) {
		t.Errorf("a label on nothing: %v", err)
	}
	if got := saidIn(t, db, s.ID); !slices.Equal(got, []string{"a"}) {
		t.Errorf("the context is %q", got)
	}
	if hits, err := db.Search(ctx, "good one", 0, Page{Limit: 1}); err != nil || len(hits) != 1 {
		t.Errorf("the label is not found: %v, %v", hits, err)
	}
}
