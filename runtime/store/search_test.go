package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mikan/wire"
)

// texts draws what people write: words of several scripts, with and without
// spaces between them.
func texts() *rapid.Generator[string] {
	unspaced := rapid.StringOfN(rapid.SampledFrom([]rune("日本語中文字典的是サーバーかがぱ한국어ไทย👍")), 1, 8, -1)
	word := rapid.StringMatching(`[a-zA-Z0-9éßЖж_]{1,12}`)
	other := rapid.SampledFrom([]string{" ", "\n", "\"", "'", "*", "(", ")", " AND ", " NOT ", "-", "^", ":", "{", "NEAR(", "、", "。", "　", "\x00", "%"})
	return rapid.Map(rapid.SliceOfN(rapid.OneOf(unspaced, word, other), 1, 12), func(p []string) string { return strings.Join(p, "") })
}

// The law of the search: any piece of an unspaced script and any whole word of a
// text finds it, wherever it was said.
func TestSearch_finds_every_word_and_every_piece(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	rapid.Check(t, func(rt *rapid.T) {
		text := texts().Draw(rt, "text")
		add(rt, db, s.ID, text)
		var pieces []string
		runes := []rune(text)
		for i, r := range runes {
			if !alone(fold(r)) {
				continue
			}
			end := i + 1
			for end < len(runes) && alone(fold(runes[end])) && end < i+4 {
				end++
			}
			pieces = append(pieces, string(runes[i:end]))
		}
		pieces = append(pieces, words(text)...)
		if len(pieces) > 0 {
			for _, piece := range rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 3).Draw(rt, "pieces") {
				mustFind(rt, db, piece, text)
			}
		}
		mustFind(rt, db, text, text)
		if hits, err := db.Search(ctx, text+" neverwritten", 0, Page{Limit: 1}); err != nil || len(hits) > 0 {
			rt.Fatalf("a word that was never written was found: %v, %v", hits, err)
		}
	})
}

func add(t interface{ Fatal(...any) }, db *DB, session int64, text string) {
	if err := db.Append(context.Background(), session, []wire.Message{user(text)}, time.Now()); err != nil {
		t.Fatal(err)
	}
	p := Prompt{Session: session, Kind: KindPrompt, Text: text}
	err := inTx(context.Background(), db.sql, func(tx *sql.Tx) error {
		_, err := addRecord(context.Background(), tx, time.Now(), &wire.Record{Text: p.Text}, place{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mustFind fails unless the text that was added last is found first.
func mustFind(t *rapid.T, db *DB, query, text string) {
	if expression(query) == "" {
		return
	}
	hits, err := db.Search(context.Background(), query, 0, Page{Limit: 1})
	if err != nil || len(hits) != 1 || hits[0].Message.PlainText() != valid(text) {
		t.Fatalf("%q in %q: %v, %v", query, text, hits, err)
	}
	recs, err := db.Records(context.Background(), query, Page{Limit: 1})
	if err != nil || len(recs) != 1 || recs[0].Text != valid(text) {
		t.Fatalf("%q in the log: %v, %v", query, recs, err)
	}
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func TestSearch_takes_nothing_for_syntax(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	add(t, db, s.ID, `select "all" from words`)
	hostile := []string{
		"", " ", `"`, `""`, `"a`, "a*", "*", "^a", "a NEAR b", "NEAR(a b, 2)", "words:a", "{words}:a", "a OR b", "NOT", "AND AND", "-a", "+", "(", ")))",
		"a'; DROP TABLE entry; --", "\x00", "\xff\xfe", strings.Repeat("a b ", 5000), strings.Repeat("(", 5000), strings.Repeat("語", 5000), "%", "_", `\`,
	}
	for _, q := range hostile {
		for _, session := range []int64{0, s.ID} {
			if _, err := db.Search(ctx, q, session, Page{Limit: 5}); err != nil {
				t.Errorf("%.40q: %v", q, err)
			}
		}
		if _, err := db.Records(ctx, q, Page{Limit: 5}); err != nil {
			t.Errorf("%.40q in the log: %v", q, err)
		}
	}
	for _, q := range []string{"words OR nothing", "NOT words", "select NEAR words"} {
		if hits, err := db.Search(ctx, q, 0, Page{Limit: 5}); err != nil || len(hits) > 0 {
			t.Errorf("%q was taken for syntax: %v, %v", q, hits, err)
		}
	}
}

// Each word of a query costs a pass through the index, so that only some count,
// and one that is there twice counts once.
func TestSearch_bounds_what_a_query_costs(t *testing.T) {
	if n := len(words(expression(strings.Repeat("的", 900)))); n != maxWords {
		t.Errorf("a long phrase has %d words", n)
	}
	if got := expression(strings.Repeat("th ", 300)); got != `"th"*` {
		t.Errorf("of one word there is %s", got)
	}
	var many strings.Builder
	for i := range 300 {
		fmt.Fprint(&many, i, " ")
	}
	if n := strings.Count(expression(many.String()), `"`) / 2; n != maxWords {
		t.Errorf("of many words there are %d", n)
	}
}

// What people take for one letter is found by either form.
func TestSearch_folds_case(t *testing.T) {
	for _, pair := range [][2]string{{"ΟΔΟΣ", "οδος"}, {"STRAẞE", "straße"}, {"İstanbul", "istanbul"}, {"ſo", "SO"}, {"ÀÉ", "àé"}, {"ＡＢ", "ab"}, {"K", "k"}} {
		if a, b := words(pair[0]), words(pair[1]); !slices.Equal(a, b) {
			t.Errorf("%q, %q", a, b)
		}
	}
}

func FuzzSearch(f *testing.F) {
	db, s := newStore(f)
	add(f, db, s.ID, "some words 言葉")
	f.Add(`"a* NEAR(`)
	f.Add("言")
	f.Fuzz(func(t *testing.T, query string) {
		if _, err := db.Search(context.Background(), query, 0, Page{Limit: 1}); err != nil {
			t.Fatalf("%q: %v", query, err)
		}
	})
}

func TestSearch_knows_calls_and_both_ends_of_output(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	long := "beginning " + strings.Repeat("filling 言 ", 20_000) + "errorattheend"
	msgs := []wire.Message{
		{Role: wire.Assistant, Content: []wire.Part{
			{Type: wire.Thinking, Thinking: "secretthought"},
			{Type: wire.ToolCall, ID: "c1", Name: "bash", Arguments: json.RawMessage(`{"command":"grep \u65e5\u672c notes.txt","n":[4711,1700000000123]}`)},
		}},
		{Role: wire.ToolResult, ToolCallID: "c1", ToolName: "bash", Content: []wire.Part{wire.TextPart(long), {Type: wire.Image, Data: "aW1hZ2U="}}},
	}
	if err := db.Append(ctx, s.ID, msgs, time.Now()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int{
		"日本": 1, "notes.txt": 1, "4711": 1, "1700000000123": 1, "command": 0, "beginning": 1, "ERRORATTHEEND": 1, "error": 1, "ｂａｓｈ": 1,
		"secretthought": 0, "aW1hZ2U": 0, "beginning errorattheend": 1, "grep beginning": 0,
	} {
		if hits, err := db.Search(ctx, query, 0, Page{Limit: 5}); err != nil || len(hits) != want {
			t.Errorf("%q: %d hits, %v; want %d", query, len(hits), err, want)
		}
	}
}

// A fork's transcript has what it inherited, and all branches of a session can be
// found and read, page by page.
func TestEntries_pages_of_a_transcript(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	for i := range 10 {
		add(t, db, s.ID, fmt.Sprint("shared ", i))
	}
	settle(t, db, s.ID)
	f, err := db.Fork(ctx, "main", "", "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	add(t, db, s.ID, "only main")
	add(t, db, f.ID, "only side")
	if err := db.Renew(ctx, f.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := db.Next(ctx, f.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	add(t, db, f.ID, "afresh")
	said := func(list []PastEntry) (texts []string) {
		for _, e := range list {
			if e.Message != nil {
				texts = append(texts, e.Message.PlainText())
			}
		}
		return texts
	}
	var want []string
	for i := range 10 {
		want = append(want, fmt.Sprint("shared ", 9-i))
	}
	want = append([]string{"afresh", "only side"}, want...)
	for _, limit := range []int{1, 3, 4, 100} {
		var all []PastEntry
		for skip := 0; ; skip += limit {
			list, err := db.Entries(ctx, f.ID, "", Page{limit, skip})
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			all = append(all, list...)
		}
		if got := said(all); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %q, want %q", limit, got, want)
		}
	}
	hits, err := db.Search(ctx, "only", f.ID, Page{Limit: 5})
	if got := said(hits); err != nil || !slices.Equal(got, []string{"only side"}) {
		t.Errorf("in the fork: %q, %v", got, err)
	}
	hits, err = db.Search(ctx, "shared 4", f.ID, Page{Limit: 5})
	if err != nil || len(hits) != 1 || hits[0].Session != "main" {
		t.Fatalf("what it inherited: %v, %v", hits, err)
	}
	around, err := db.Entries(ctx, f.ID, hits[0].ID, Page{Limit: 4})
	if got := said(around); err != nil || !slices.Equal(got, []string{"shared 6", "shared 5", "shared 4", "shared 3"}) {
		t.Errorf("around it: %q, %v", got, err)
	}
	if _, err := db.Entries(ctx, s.ID, "0000ffff", Page{Limit: 4}); err == nil {
		t.Error("around an entry that is not there: no error")
	}
}

// A page holds no images in memory, only where they are.
func TestEntries_leave_out_images(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	m := user("see")
	m.Content = append(m.Content, wire.Part{Type: wire.Image, MimeType: "image/png", Data: "aW1hZ2U="})
	if err := db.Append(ctx, s.ID, []wire.Message{m}, time.Now()); err != nil {
		t.Fatal(err)
	}
	list, err := db.Entries(ctx, s.ID, "", Page{Limit: 5})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if p := list[0].Message.Content[1]; p.Type != wire.Image || p.Data != "" {
		t.Errorf("%+v", p)
	}
}

func TestSessionCalled_by_name_and_id(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	list, err := db.PastSessions(ctx, Page{Limit: 10})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	id := list[0].Header.ID
	for _, ref := range []string{"main", id, id[:8], strings.ToUpper(id[:13])} {
		if got, err := db.SessionCalled(ctx, ref); err != nil || got.ID != s.ID {
			t.Errorf("%q: %v, %v", ref, got, err)
		}
	}
	for _, ref := range []string{"", id[:7], "nothere", "%%%%%%%%", "' OR 1 --"} {
		if _, err := db.SessionCalled(ctx, ref); err == nil {
			t.Errorf("%q was found", ref)
		}
	}
}

// What an earlier version wrote is found after the schema is brought up to date,
// and its branches can be forked from.
func TestMigration_fills_the_index_and_finds_the_branches(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	old, err := create(ctx, path, migrations[:2])
	if err != nil {
		t.Fatal(err)
	}
	line := func(seq int, text string) string {
		return fmt.Sprintf(`{"type":"message","id":"%08x","parentId":null,"timestamp":"","message":{"role":"user","content":[{"type":"text","text":%q}],"timestamp":1}}`+"\n", seq, text)
	}
	reset := `{"type":"custom","id":"00000002","parentId":null,"timestamp":"","customType":"mikan.reset"}` + "\n"
	for i, l := range []string{line(1, "歴史 before"), reset, line(3, "after")} {
		if _, err := old.Exec(`INSERT OR IGNORE INTO session(id, name, header, base, size, root, leaf, changed) VALUES (1, 'main', CAST('{"type":"session","version":3,"id":"u"}' AS BLOB), 0, 0, 2, 3, 0)`); err != nil {
			t.Fatal(err)
		}
		if _, err := old.Exec(`INSERT INTO entry(seq, session, end, line) VALUES (?, 1, ?, ?)`, i+1, (i+1)*200, []byte(l)); err != nil {
			t.Fatal(err)
		}
	}
	old.Close()
	db := openTest(t, path)
	if hits, err := db.Search(ctx, "史", 0, Page{Limit: 5}); err != nil || len(hits) != 1 {
		t.Fatalf("%v, %v", hits, err)
	}
	f, err := db.Fork(ctx, "main", "00000001", "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if msgs, err := db.Messages(ctx, f.ID); err != nil || len(msgs) != 1 || msgs[0].PlainText() != "歴史 before" {
		t.Fatalf("the fork from the first branch: %v, %v", msgs, err)
	}
}

// Lines that an earlier version wrote and SQLite cannot parse, spoilt or too deep
// for it, keep nobody from his office.
func TestMigration_takes_lines_that_cannot_be_parsed(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	old, err := create(ctx, path, migrations[:2])
	if err != nil {
		t.Fatal(err)
	}
	insert := func(query string, args ...any) {
		if _, err := old.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	insert(`INSERT INTO session(id, name, header, base, size, leaf, changed) VALUES (1, 'main', CAST('{"type":"session","version":3,"id":"u"}' AS BLOB), 0, 0, 3, 0)`)
	deep := strings.Repeat("[", 2000) + strings.Repeat("]", 2000)
	for i, line := range []string{
		`{"type":"message","id":"00000001","parentId":null,"timestamp":"","message":{"role":"user","content":[{"type":"text","text":"before"}],"timestamp":1}}`,
		`{"type":"message","id":"00000002","parentId":"00000001","timestamp":"","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":` + deep + `}],"timestamp":1}}`,
		`{"type":"message","id":"0000`,
	} {
		insert(`INSERT INTO entry(seq, session, end, line) VALUES (?, 1, ?, ?)`, i+1, (i+1)*20_000, []byte(line+"\n"))
		insert(`INSERT INTO record(end, time, line) VALUES (?, 1, ?)`, i+1, []byte(line+"\n"))
	}
	old.Close()
	db := openTest(t, path)
	if msgs, err := db.Messages(ctx, 1); err != nil || len(msgs) != 3 {
		t.Errorf("%d messages, %v", len(msgs), err)
	}
	for _, entry := range []string{"00000001", "00000002", "00000003"} {
		if _, err := db.Fork(ctx, "main", entry, "at "+entry, "/office", time.Now()); err != nil {
			t.Errorf("fork at %s: %v", entry, err)
		}
	}
	if list, err := db.Entries(ctx, 1, "", Page{Limit: 9}); err != nil || len(list) != 3 || list[0].ID != "00000003" {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := db.Records(ctx, "", Page{Limit: 9}); err != nil || len(list) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := db.History(ctx, 9, "", "", ""); err != nil {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestEnds_cut_between_characters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s, n := string(rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(rt, "s")), rapid.IntRange(0, 20).Draw(rt, "n")
		if got := ends(s, n); utf8.ValidString(s) && !utf8.ValidString(got) || len(got) > len(s)+1 {
			rt.Fatalf("%q became %q", s, got)
		}
	})
}
