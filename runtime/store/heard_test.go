package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mikan/wire"
)

// overhear takes in messages that ask for nothing, of which the nth was said at
// that time.
func overhear(t *testing.T, db *DB, at func(n int) time.Time, msgs ...wire.InMessage) {
	t.Helper()
	for n, m := range msgs {
		m.ID, m.User, m.Silent = fmt.Sprint(m.TS, m.Change, n), "U", true
		if _, err := db.Arrive(context.Background(), m, "main", "/", Prompt{Accepted: at(n)}); err != nil {
			t.Fatal(err)
		}
	}
}

func numbered(from, to int) (list []wire.InMessage) {
	for n := from; n < to; n++ {
		list = append(list, wire.InMessage{TS: fmt.Sprint("m", n), Text: fmt.Sprint(n)})
	}
	return list
}

// hears is what a session hears now.
func hears(t *testing.T, db *DB, session string, now time.Time) (texts []string, u Unheard) {
	t.Helper()
	s, err := db.Session(context.Background(), session)
	if err == nil {
		u, err = db.Unheard(context.Background(), s, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range u.Lines {
		texts = append(texts, l.Text)
	}
	return texts, u
}

// ask has a message be answered to its end, and the answer be posted as ts.
func ask(t *testing.T, db *DB, m wire.InMessage, session, ts string) Prompt {
	t.Helper()
	ctx, now := context.Background(), time.Now()
	m.ID, m.User = m.TS, "U"
	a, err := db.Arrive(ctx, m, session, "/", Prompt{Kind: KindPrompt, Actor: "x:U", Text: m.Text, Source: m.TS, Accepted: now})
	if err != nil {
		t.Fatal(err)
	}
	_, u := hears(t, db, session, now)
	p := a.Prompt
	if err := db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user(m.Text)}, Told{Heard: u.Upto}, now); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Settle(ctx, Settlement{Run: p.ID, Session: p.Session, Outcome: wire.OK, Msgs: []wire.Message{user("answer to " + m.Text)}, Post: "answer to " + m.Text, Key: ts}, now); err != nil {
		t.Fatal(err)
	}
	post, _, err := db.NextPost(ctx)
	if err != nil {
		t.Fatal(err)
	}
	post.TS, post.State = ts, PostDone
	r, err := db.FinishPost(ctx, post, now)
	if err != nil {
		t.Fatal(err)
	}
	if r.Session != session || r.Trigger != m.TS {
		t.Errorf("the answer's record is %+v", r)
	}
	p, _, err = db.Prompt(ctx, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFault_21_18_what_is_told_of_the_chat_has_a_window(t *testing.T) {
	db, _ := newStore(t)
	now := time.Now()
	old := now.Add(-HeardAge - time.Minute)
	overhear(t, db, func(int) time.Time { return old }, numbered(0, 10)...)
	overhear(t, db, func(int) time.Time { return now }, numbered(10, 10+HeardLines)...)
	texts, u := hears(t, db, "main", now)
	if len(texts) != HeardLines || texts[0] != "10" || u.More {
		t.Fatalf("%d lines from %s on, more: %v", len(texts), texts[0], u.More)
	}
	overhear(t, db, func(int) time.Time { return now }, wire.InMessage{TS: "last", Text: "last"})
	texts, u = hears(t, db, "main", now)
	if len(texts) != HeardLines || texts[0] != "11" || texts[HeardLines-1] != "last" || !u.More {
		t.Fatalf("%d lines from %s on, more: %v", len(texts), texts[0], u.More)
	}
	if texts, u := hears(t, db, "main", now.Add(HeardAge+time.Minute)); len(texts) != 0 || u.More {
		t.Errorf("after two weeks it hears %q", texts)
	}
}

// The root of a thread is what the thread is about, however old it is and however
// much has been said since.
func TestUnheard_a_thread_has_its_root_whatever_the_window(t *testing.T) {
	db, _ := newStore(t)
	if _, err := db.CreateSession(context.Background(), "root", "/", time.Now()); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	overhear(t, db, func(int) time.Time { return now.Add(-2 * HeardAge) }, wire.InMessage{TS: "root", Text: "root"})
	replies := numbered(0, HeardLines)
	for i := range replies {
		replies[i].Thread = "root"
	}
	overhear(t, db, func(int) time.Time { return now }, replies...)
	texts, u := hears(t, db, "root", now)
	if len(texts) != HeardLines || texts[0] != "root" || texts[1] != "1" || !u.More {
		t.Fatalf("%d lines, %q first, more: %v", len(texts), texts[:2], u.More)
	}
}

// What is done for each message or thread goes by an index from the place where it
// stands, however long the log is.
func TestFault_21_18_nothing_looks_through_the_log_for_a_message(t *testing.T) {
	db, _ := newStore(t)
	for _, query := range []string{tieRecord, heardRoot, heardBounds} {
		for _, step := range plan(t, db, query, 1, 1, 1, 1) {
			if strings.Contains(query, "ts = ?") && step == "SEARCH record" || strings.HasPrefix(step, "SCAN record") {
				t.Errorf("%s: %s", query, step)
			}
		}
	}
}

// plan is how SQLite does a query.
func plan(t *testing.T, db *DB, query string, args ...any) (steps []string) {
	t.Helper()
	rows, err := db.sql.Query(`EXPLAIN QUERY PLAN `+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

// What has been heard is never read again, however long the log is: each part of
// the query goes by an index from the place where the session stands.
func TestFault_21_18_nothing_reads_the_whole_log(t *testing.T) {
	db, _ := newStore(t)
	for _, where := range []string{`r.thread = ?1`, `r.ts = ?1 AND r.ts != '' AND r.thread != ?1`} {
		for _, step := range plan(t, db, fmt.Sprintf(heardQuery, where), "", 0, 0, 0, 0, 0, 0, 0) {
			if strings.HasPrefix(step, "SCAN") || strings.HasPrefix(step, "SEARCH r ") && !strings.Contains(step, "seq>?") || strings.Contains(step, "TEMP B-TREE") {
				t.Errorf("%s: %s", where, step)
			}
		}
	}
}

func TestUnheard_a_lost_session_hears_its_own_past(t *testing.T) {
	db, _ := newStore(t)
	overhear(t, db, func(int) time.Time { return time.Now() }, wire.InMessage{TS: "1", Text: "before"})
	ask(t, db, wire.InMessage{TS: "2", Text: "question"}, "main", "3")
	if texts, _ := hears(t, db, "main", time.Now()); len(texts) != 0 {
		t.Fatalf("it hears %q again", texts)
	}
	want := []string{"before", "question", "answer to question"}
	for _, lose := range []string{
		`DELETE FROM entry; UPDATE session SET leaf = 0, settled = 0, size = base`,
		`DELETE FROM prompt; DELETE FROM session; INSERT INTO session(name, header, base, size, changed) VALUES ('main', x'7b7d0a', 3, 3, 1)`,
	} {
		if _, err := db.sql.Exec(lose); err != nil {
			t.Fatal(err)
		}
		texts, u := hears(t, db, "main", time.Now())
		if !slices.Equal(texts, want) || !u.Lines[2].Ours || u.Lines[1].Ours {
			t.Errorf("it hears %q, want %q", texts, want)
		}
	}
}

func TestDescend_goes_on_from_the_last_entry_of_the_run(t *testing.T) {
	ctx := context.Background()
	db, main := newStore(t)
	one := ask(t, db, wire.InMessage{TS: "1", Text: "one"}, "main", "2")
	ask(t, db, wire.InMessage{TS: "3", Text: "two"}, "main", "4")
	if err := db.Renew(ctx, main.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, fresh, err := db.Next(ctx, main.ID, time.Now()); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	ask(t, db, wire.InMessage{TS: "5", Text: "three"}, "main", "6")
	for ts, want := range map[string][]string{
		"1": {"one", "answer to one"}, // a prompt
		"2": {"one", "answer to one"}, // an answer
		"4": {"one", "answer to one", "two", "answer to two"},
		"6": {"three", "answer to three"}, // after the reset
		"9": nil,                          // nobody knows it
	} {
		s, err := db.CreateSession(ctx, ts, "/", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if root, ok, err := db.Root(ctx, s); err != nil || ok != (want != nil) {
			t.Fatalf("%s: the root is %+v, %v", ts, root, err)
		} else if err := db.Descend(ctx, s.ID, root, time.Now()); ok && err != nil {
			t.Fatal(err)
		}
		if err := db.Append(ctx, s.ID, []wire.Message{user("own")}, time.Now()); err != nil {
			t.Fatal(err)
		}
		data := transcript(t, db, s.ID, 100)
		if got := readBranch(t, data); !slices.Equal(got, append(want, "own")) {
			t.Errorf("%s: %q, want %q", ts, got, want)
		}
		msgs, err := db.Messages(ctx, s.ID)
		if err != nil || len(msgs) != len(want)+1 {
			t.Errorf("%s: %d messages, %v", ts, len(msgs), err)
		}
		if strings.Contains(string(data), `"parentSession"`) != (want != nil) {
			t.Errorf("%s: %s", ts, data)
		}
		if texts, _ := hears(t, db, ts, time.Now()); len(texts) != 0 {
			t.Errorf("%s hears %q besides", ts, texts)
		}
	}
	used, err := db.Session(ctx, "9")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Descend(ctx, used.ID, one, time.Now()); err != nil {
		t.Fatal(err)
	}
	if msgs, err := db.Messages(ctx, used.ID); err != nil || len(msgs) != 1 {
		t.Errorf("a session that has run has %d messages, %v", len(msgs), err)
	}
}

// A store of the version before tells no session what it knows.
func TestOpen_brings_a_store_that_heard_nothing_up_to_date(t *testing.T) {
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
	insert(`INSERT INTO session(name, header, base, size, changed, leaf) VALUES ('main', x'7b7d0a', 3, 3, 1, 1), ('7', x'7b7d0a', 3, 3, 1, 0)`)
	for n, line := range []string{
		`{"ts":"7","user":"U1","text":"root","attachments":[],"isMessagingBot":false}`,
		`{"ts":"8","threadTs":"7","user":"U1","text":"/new","isMessagingBot":false}`,
		`{"ts":"9","threadTs":"7","user":"U1","text":"gone"}`,
		`{"ts":"9","threadTs":"7","user":"U1","text":"","change":"deleted"}`,
		`{"ts":"10","threadTs":"7","user":"bot","text":"reply","isMessagingBot":true}`,
		`{"ts":"11","threadTs":"7","user":"bot","text":"lost","error":"no","isMessagingBot":true}`,
		`{"ts":"12","threadTs":"7","user":"U1","text":" "}`,
	} {
		insert(`INSERT INTO record(end, time, line) VALUES (?, ?, ?)`, n, time.Now().UnixMilli(), []byte(line+"\n"))
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db := openTest(t, path)
	if texts, _ := hears(t, db, "main", time.Now()); len(texts) != 0 {
		t.Errorf("main hears %q", texts)
	}
	if texts, u := hears(t, db, "7", time.Now()); !slices.Equal(texts, []string{"root", "reply"}) || !u.Lines[1].Ours {
		t.Errorf("the thread hears %q", texts)
	}
}

// A prompt that waits while another overtakes it, and then fails to begin, is heard
// with the next.
func TestUnheard_an_overtaken_prompt_that_fails_is_not_lost(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	accept := func(kind Kind, text string) Prompt {
		p, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: kind, Actor: "local:ann", Text: text, Accepted: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	slow, fast := accept(KindPrompt, "slow"), accept(KindFollowup, "fast")
	_, u := hears(t, db, "main", time.Now())
	if err := db.Begin(ctx, fast.ID, []Prompt{fast}, []wire.Message{user("fast")}, Told{Heard: u.Upto}, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []Prompt{fast, slow} {
		if _, err := db.Settle(ctx, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.Failed, Text: "failed"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	accept(KindPrompt, "next")
	if texts, _ := hears(t, db, "main", time.Now()); !slices.Equal(texts, []string{"slow"}) {
		t.Errorf("it hears %q", texts)
	}
}

// A platform may deliver a change before the message that it changes. The old text is
// not told then either.
func TestUnheard_a_message_that_comes_after_its_change_is_not_told(t *testing.T) {
	db, _ := newStore(t)
	overhear(t, db, func(int) time.Time { return time.Now() },
		wire.InMessage{TS: "1", Text: "the key is ***", Change: wire.Edited},
		wire.InMessage{TS: "1", Text: "the key is hunter2"})
	if texts, _ := hears(t, db, "main", time.Now()); !slices.Equal(texts, []string{"the key is ***"}) {
		t.Errorf("it hears %q", texts)
	}
}

// A clock that was wrong for a while hides nothing that was said at other times.
func TestUnheard_outlives_a_clock_that_was_wrong(t *testing.T) {
	now := time.Now()
	for _, wrong := range []time.Time{time.Unix(0, 0), now.Add(-time.Hour), now.Add(2 * HeardAge)} {
		db, _ := newStore(t)
		times := []time.Time{now.Add(-time.Minute), wrong, now}
		overhear(t, db, func(n int) time.Time { return times[n] }, numbered(0, 3)...)
		texts, _ := hears(t, db, "main", now)
		texts = slices.DeleteFunc(texts, func(s string) bool { return s == "1" })
		if !slices.Equal(texts, []string{"0", "2"}) {
			t.Errorf("%v: it hears %q", wrong, texts)
		}
	}
}
