package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mikan/wire"
)

func openTest(t testing.TB, path string) *DB {
	t.Helper()
	db, err := Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func newStore(t testing.TB) (*DB, Session) {
	t.Helper()
	db := openTest(t, filepath.Join(t.TempDir(), "sessions.db"))
	s, err := db.CreateSession(context.Background(), "main", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return db, s
}

func user(text string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}, Timestamp: 1}
}

// settle runs a prompt that says nothing to its end.
func settle(t interface{ Fatal(...any) }, db *DB, session int64) {
	ctx := context.Background()
	p, _, err := db.Accept(ctx, Prompt{Session: session, Kind: KindPrompt})
	if err == nil {
		err = db.Begin(ctx, p.ID, []Prompt{p}, nil, Told{}, time.Now())
	}
	if err == nil {
		_, err = db.Settle(ctx, Settlement{Run: p.ID, Session: session, Outcome: wire.OK}, time.Now())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// transcript reads a whole transcript in pieces of n bytes.
func transcript(t testing.TB, db *DB, session int64, n int) []byte {
	t.Helper()
	var all []byte
	buf := make([]byte, n)
	for {
		m, err := db.ReadTranscript(context.Background(), session, buf, int64(len(all)))
		if err != nil {
			t.Fatal(err)
		}
		if m == 0 {
			return all
		}
		all = append(all, buf[:m]...)
	}
}

// readBranch is what a reader of version 3 takes for the context: the path from
// the last entry to its root.
func readBranch(t testing.TB, data []byte) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var h wire.Header
	if err := json.Unmarshal([]byte(lines[0]), &h); err != nil || h.Type != "session" || h.Version != 3 {
		t.Fatalf("header %s: %v", lines[0], err)
	}
	byID := map[string]wire.Entry{}
	last := ""
	for _, line := range lines[1:] {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("entry %s: %v", line, err)
		}
		if _, twice := byID[e.ID]; twice {
			t.Fatalf("entry %s is there twice", e.ID)
		}
		if e.ParentID != nil {
			if _, ok := byID[*e.ParentID]; !ok {
				t.Fatalf("entry %s comes before its parent %s", e.ID, *e.ParentID)
			}
		}
		byID[e.ID], last = e, e.ID
	}
	var texts []string
	for id := last; id != ""; {
		e := byID[id]
		if e.Message != nil {
			texts = append([]string{e.Message.PlainText()}, texts...)
		}
		id = ""
		if e.ParentID != nil {
			id = *e.ParentID
		}
	}
	return texts
}

// The law of histories: whatever is appended, forked, compacted and reset, the transcript
// that is read in pieces of any size, what a reader makes of it, and the messages
// that the store gives are what a plain model says.
func TestInvariant_session_format_compatibility(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ctx := context.Background()
		dir := t.TempDir()
		db := openTest(t, filepath.Join(dir, fmt.Sprint(rapid.Uint64().Draw(rt, "name"), ".db")))
		defer db.Close()
		first, err := db.CreateSession(ctx, "main", "/office", time.Now())
		if err != nil {
			rt.Fatal(err)
		}
		type model struct {
			id            int64
			name          string
			live, settled []string // what a reader sees
			seen, after   []string // what the model sees, now and at the last settlement
			open          bool     // something came since then
		}
		sessions := []*model{{id: first.ID, name: "main"}}
		clone := slices.Clone[[]string]
		steps := rapid.IntRange(1, 15).Draw(rt, "steps")
		for i := range steps {
			m := sessions[rapid.IntRange(0, len(sessions)-1).Draw(rt, "session")]
			switch rapid.IntRange(0, 7).Draw(rt, "op") {
			case 0, 1:
				n := rapid.IntRange(1, 3).Draw(rt, "messages")
				var msgs []wire.Message
				for j := range n {
					text := fmt.Sprintf("%s %d.%d %s", m.name, i, j, strings.Repeat("é", rapid.IntRange(0, 40).Draw(rt, "length")))
					msgs = append(msgs, user(text))
					m.live, m.seen = append(m.live, text), append(m.seen, text)
				}
				m.open = true
				if err := db.Append(ctx, m.id, msgs, time.Now()); err != nil {
					rt.Fatal(err)
				}
			case 2:
				settle(rt, db, m.id)
				m.settled, m.after, m.open = clone(m.live), clone(m.seen), false
			case 3, 4:
				name := fmt.Sprintf("fork%d", i)
				s, err := db.Fork(ctx, m.name, "", name, "/office", time.Now())
				if err != nil {
					rt.Fatal(err)
				}
				sessions = append(sessions, &model{s.ID, name, clone(m.settled), clone(m.settled), clone(m.after), clone(m.after), false})
			case 5:
				if err := db.Renew(ctx, m.id); err != nil {
					rt.Fatal(err)
				}
				if _, _, fresh, err := db.Next(ctx, m.id, time.Now()); err != nil || !fresh {
					rt.Fatal("no new branch", err)
				}
				m.live, m.settled, m.seen, m.after, m.open = nil, nil, nil, nil, false
			case 6, 7:
				keep := rapid.IntRange(0, len(m.seen)).Draw(rt, "keep")
				if len(m.seen) > 0 && strings.HasPrefix(m.seen[0], "The conversation") {
					keep = min(keep, len(m.seen)-1)
				}
				c := Compaction{Entry: wire.Entry{Summary: fmt.Sprint("summary ", i), TokensBefore: i}, Keep: keep}
				said, err := db.Compact(ctx, m.id, c, time.Now())
				if keep == 0 {
					if !errors.Is(err, ErrKept) {
						rt.Fatal("kept nothing", err)
					}
					continue
				}
				if err != nil {
					rt.Fatal(err)
				}
				m.seen = append([]string{said.PlainText()}, m.seen[len(m.seen)-keep:]...)
				if !m.open {
					m.after = clone(m.seen)
				}
			}
		}
		for _, m := range sessions {
			row, err := db.Session(ctx, m.name)
			if err != nil {
				rt.Fatal(err)
			}
			data := transcript(t, db, m.id, rapid.IntRange(1, 4000).Draw(rt, "piece"))
			if int64(len(data)) != row.Size {
				rt.Fatalf("%s: %d bytes read, size %d", m.name, len(data), row.Size)
			}
			if got := readBranch(t, data); strings.Join(got, "|") != strings.Join(m.live, "|") {
				rt.Fatalf("%s: a reader sees %q, want %q", m.name, got, m.live)
			}
			msgs, err := db.Messages(ctx, m.id)
			if err != nil {
				rt.Fatal(err)
			}
			var got []string
			for _, x := range msgs {
				got = append(got, x.PlainText())
			}
			if strings.Join(got, "|") != strings.Join(m.seen, "|") {
				rt.Fatalf("%s: context %q, want %q", m.name, got, m.seen)
			}
		}
	})
}

func TestLog_offsets_are_true(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	var want []byte
	for i := range 40 {
		_, rec, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt, Actor: "local:ann", Text: strings.Repeat("x", i), Name: "ann", Accepted: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		line, _ := json.Marshal(rec)
		want = append(append(want, line...), '\n')
	}
	size, _, err := db.LogSize(ctx)
	if err != nil || size != int64(len(want)) {
		t.Fatalf("size %d, %v; want %d", size, err, len(want))
	}
	for _, piece := range []int{1, 7, 100, 1 << 20} {
		for off := 0; off < len(want); off += piece * 3 {
			buf := make([]byte, piece)
			n, err := db.ReadLog(ctx, buf, int64(off))
			if err != nil || !bytes.Equal(buf[:n], want[off:off+n]) || n < min(piece, len(want)-off) {
				t.Fatalf("read %d at %d: %d, %v: %q", piece, off, n, err, buf[:n])
			}
		}
	}
}

func TestQueue_takes_followups_and_steers_first(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	for _, p := range []Prompt{{Text: "a", Kind: KindPrompt}, {Text: "b", Kind: KindPrompt}, {Text: "c", Kind: KindFollowup}, {Text: "d", Kind: KindSteer}} {
		p.Session, p.Accepted = s.ID, time.Now()
		if _, _, err := db.Accept(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	var order string
	for {
		p, ok, _, err := db.Next(ctx, s.ID, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		order += p.Text
		if err := db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user(p.Text)}, Told{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user("again")}, Told{}, time.Now()); err == nil {
			t.Fatal("a prompt left the queue twice")
		}
		if _, err := db.Settle(ctx, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.OK, Answer: "ok", Text: "ok"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if order != "cdab" {
		t.Fatalf("order %q, want cdab", order)
	}
}

func TestQueue_is_bounded(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if _, err := db.sql.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
		INSERT INTO prompt(session, kind, actor, text, state, accepted) SELECT ?, 'prompt', '', '', 'queued', 0 FROM n`, s.ID); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt, Text: "x"}); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("err %v, want %v", err, ErrQueueFull)
	}
}

func TestOpen_refuses_another_programs_database(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "x.db")
	other, err := create(ctx, path, []string{`CREATE TABLE t (x INTEGER) STRICT`})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(`PRAGMA application_id = 1`); err != nil {
		t.Fatal(err)
	}
	other.Close()
	if _, err := Open(ctx, path); err == nil || !strings.Contains(err.Error(), ErrForeign.Error()) {
		t.Fatalf("err %v", err)
	}
	if foreign, err := Foreign(ctx, path); err != nil || !foreign {
		t.Fatalf("foreign %v, %v", foreign, err)
	}
}

func TestFork_costs_the_same_however_long_the_history_is(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	var msgs []wire.Message
	for i := range 500 {
		msgs = append(msgs, user(fmt.Sprint("message ", i)))
	}
	if err := db.Append(ctx, s.ID, msgs, time.Now()); err != nil {
		t.Fatal(err)
	}
	settle(t, db, s.ID)
	count := func() (n int) {
		if err := db.sql.QueryRow(`SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM segment)`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := count()
	if _, err := db.Fork(ctx, "main", "", "side", "/office", time.Now()); err != nil {
		t.Fatal(err)
	}
	if grown := count() - before; grown != 3 {
		t.Fatalf("a fork added %d rows, want 3: a segment and two entries", grown)
	}
}

// Fault B2: a thousand stores, one after the other and many at once, leave no
// more descriptors open than the pool allows.
func TestFault_B2_pool_keeps_descriptors_bounded(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for i := range 40 {
		db, err := Create(ctx, filepath.Join(dir, fmt.Sprintf("%d.db", i)))
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
	}
	pool := NewPool(8)
	defer pool.Close()
	errs := make(chan error, 64)
	for w := range 16 {
		go func() {
			var err error
			for i := range 12 {
				path := filepath.Join(dir, fmt.Sprintf("%d.db", (w*5+i)%40))
				if e := pool.Use(ctx, path, func(db *DB) error { _, err := db.Sessions(ctx); return err }); e != nil {
					err = e
				}
			}
			errs <- err
		}()
	}
	for range 16 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if len(pool.open) > 8 {
		t.Fatalf("%d stores are open, want at most 8", len(pool.open))
	}
}

func TestSettle_counts_once(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	p, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt, Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user("x")}, Told{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	set := Settlement{Run: p.ID, Session: s.ID, Outcome: wire.OK, Text: "y", Msgs: []wire.Message{user("y")}}
	for range 2 {
		if _, err := db.Settle(ctx, set, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if msgs, err := db.Messages(ctx, s.ID); err != nil || len(msgs) != 2 {
		t.Fatalf("%d messages, %v; want 2", len(msgs), err)
	}
}

func TestLast_goes_by_settlement(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	var ids []int64
	for range 3 {
		p, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	for i, o := range []wire.Outcome{wire.OK, wire.OK, wire.Failed} {
		id := ids[(i+2)%3]
		if _, err := db.Settle(ctx, Settlement{Run: id, Session: s.ID, Outcome: o, Final: fmt.Sprint(id), Error: "e"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if p, ok, err := db.LastAnswer(ctx, s.ID); err != nil || !ok || p.ID != ids[0] {
		t.Errorf("last answer %d, %v; want %d", p.ID, err, ids[0])
	}
	if o, e, err := db.LastOutcome(ctx, s.ID); err != nil || o != wire.Failed || e != "e" {
		t.Errorf("last outcome %s, %v", o, err)
	}
}

func TestFork_of_what_begins_anew_inherits_nothing(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	if err := db.Append(ctx, s.ID, []wire.Message{user("old")}, time.Now()); err != nil {
		t.Fatal(err)
	}
	settle(t, db, s.ID)
	if err := db.Renew(ctx, s.ID); err != nil {
		t.Fatal(err)
	}
	f, err := db.Fork(ctx, "main", "", "side", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if msgs, err := db.Messages(ctx, f.ID); err != nil || len(msgs) != 0 {
		t.Fatalf("the fork has %d messages, %v", len(msgs), err)
	}
}

func TestArchive_refuses_what_is_busy_and_refuses_prompts(t *testing.T) {
	ctx := context.Background()
	db, s := newStore(t)
	p := Prompt{Session: s.ID, Kind: KindPrompt}
	p, _, err := db.Accept(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.ArchiveSession(ctx, s.ID, time.Now()); !errors.Is(err, ErrBusy) {
		t.Fatalf("a busy session: %v", err)
	}
	if _, err := db.Settle(ctx, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.OK}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := db.ArchiveSession(ctx, s.ID, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := db.Accept(ctx, Prompt{Session: s.ID, Kind: KindPrompt}); !errors.Is(err, ErrNoSession) {
		t.Fatalf("a prompt for an archived session: %v", err)
	}
}

func TestCreate_by_several_at_once_makes_one_store(t *testing.T) {
	for range 5 {
		path := filepath.Join(t.TempDir(), "sessions.db")
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				db, err := Create(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				db.Close()
			})
		}
		all.Wait()
	}
}
