package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/wire"
)

func TestCompact_writes_the_entry_of_version_3_and_counts_what_it_cost(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	old := wire.Message{Role: wire.Assistant, Content: []wire.Part{wire.TextPart("b")}, Usage: &wire.Usage{Input: 9, Total: 9}, Provider: "p", Model: "m"}
	if err := db.Append(ctx, s.ID, []wire.Message{user("a"), old, user("c")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	c := Compaction{
		Entry: wire.Entry{Summary: "sum", TokensBefore: 77, Details: &wire.Details{Read: []string{"r"}, Modified: []string{}}},
		Keep:  2, Paid: wire.Message{Provider: "p", Model: "m", Usage: &wire.Usage{Input: 5, Output: 1, Total: 6}},
	}
	if _, err := db.Compact(ctx, s.ID, c, time.UnixMilli(1_700_000_000_000)); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(transcript(t, db, s.ID, 4096))), "\n")
	var e map[string]any
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &e); err != nil {
		t.Fatal(err)
	}
	want := `map[details:map[modifiedFiles:[] readFiles:[r]] firstKeptEntryId:00000002 id:00000004 parentId:00000003 summary:sum timestamp:2023-11-14T22:13:20.000Z tokensBefore:77 type:compaction]`
	if got := fmt.Sprint(e); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	msgs, err := db.Messages(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if len(msgs) != 3 || msgs[0].Timestamp != 1_700_000_000_000 || msgs[1].Usage != nil {
		t.Errorf("%+v", msgs)
	}
	if u, err := db.Usage(ctx, s.ID); err != nil || u[0].Input != 14 || u[0].Calls != 2 {
		t.Errorf("%+v %v", u, err)
	}
}

func TestFault_21_18_a_resume_reads_no_more_than_the_live_context(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	var msgs []wire.Message
	for i := range 100 {
		msgs = append(msgs, user(fmt.Sprint("message ", i)))
	}
	if err := db.Append(ctx, s.ID, msgs, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Compact(ctx, s.ID, Compaction{Entry: wire.Entry{Summary: "s"}, Keep: 3}, time.Now()); err != nil {
		t.Fatal(err)
	}
	// What is not read cannot be missed.
	if _, err := db.sql.Exec(`UPDATE entry SET line = 'damaged' WHERE seq <= 97`); err == nil {
		t.Fatal("a line is text")
	}
	if _, err := db.sql.Exec(`UPDATE entry SET line = x'00' WHERE seq <= 97`); err != nil {
		t.Fatal(err)
	}
	if got, err := db.Messages(ctx, s.ID); err != nil || len(got) != 4 || got[3].PlainText() != "message 99" {
		t.Fatalf("%+v %v", got, err)
	}
}

// A label or a title after the last run does not keep a fork from having the
// summary.
func TestFork_of_a_labelled_session_has_the_summary(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if err := db.Append(ctx, s.ID, []wire.Message{user("one"), user("two")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	settle(t, db, s.ID)
	if err := db.LabelEntry(ctx, s.ID, entryID(1), "here", time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Compact(ctx, s.ID, Compaction{Entry: wire.Entry{Summary: "sum"}, Keep: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	f, err := db.Fork(ctx, s.Name, "", "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	want, err := db.Messages(ctx, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.Messages(ctx, f.ID); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, %s", err, cmp.Diff(want, got))
	}
}

func TestFork_before_a_compaction_does_not_see_it(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	add := func(text string) {
		if err := db.Append(ctx, s.ID, []wire.Message{user(text)}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	add("one")
	add("two")
	settle(t, db, s.ID)
	add("three")
	if _, err := db.Compact(ctx, s.ID, Compaction{Entry: wire.Entry{Summary: "sum"}, Keep: 1}, time.Now()); err != nil {
		t.Fatal(err)
	}
	early, err := db.Fork(ctx, "main", "", "early", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	settle(t, db, s.ID)
	late, err := db.Fork(ctx, "main", "", "late", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]string{early.ID: "one two", late.ID: "sum three"} {
		msgs, err := db.Messages(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range msgs {
			text, ok := wire.SummaryOf(m)
			if !ok {
				text = m.PlainText()
			}
			got = append(got, text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
