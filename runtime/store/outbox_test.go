package store

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"mikan/wire"
)

// A store of the version before the outbox keeps what it has.
func TestOpen_brings_a_store_without_an_outbox_up_to_date(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	old, err := create(ctx, path, migrations[:1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(`INSERT INTO session(name, header, base, size, changed) VALUES ('main', x'7b7d0a', 3, 3, 1)`); err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec(`INSERT INTO prompt(session, kind, actor, text, state, accepted) VALUES (1, 'prompt', 'local:ann', 'x', 'queued', 1)`); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	p, ok, err := db.Newest(ctx, 1)
	if err != nil || !ok || p.Text != "x" || p.Source != "" {
		t.Errorf("prompt %+v, %v, %v", p, ok, err)
	}
	if _, err := db.Settle(ctx, Settlement{Run: p.ID, Session: 1, Outcome: wire.OK, Text: "y", Post: "y", Key: "k"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if n, err := db.Unposted(ctx); err != nil || n != 0 {
		t.Errorf("a prompt by file has put %d posts into the outbox, %v", n, err)
	}
}

func arriving(t *testing.T) (*DB, func(wire.InMessage) Arrival) {
	t.Helper()
	ctx := context.Background()
	db, err := Create(ctx, filepath.Join(t.TempDir(), "sessions.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db, func(m wire.InMessage) Arrival {
		t.Helper()
		m.Conversation, m.User = "C1", "U1"
		a, err := db.Arrive(ctx, m, "main", "/", Prompt{Kind: KindPrompt, Actor: "bus:U1", Text: m.Text, Source: m.TS, Reply: m.Reply, Accepted: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func TestArrive_knows_a_message_again(t *testing.T) {
	_, arrive := arriving(t)
	for i, x := range []struct {
		m               wire.InMessage
		asked, recorded bool
	}{
		{wire.InMessage{ID: "1", TS: "1", Text: "a"}, true, true},
		{wire.InMessage{ID: "1", TS: "1", Text: "a"}, false, false},                      // delivered again
		{wire.InMessage{ID: "2", TS: "1", Text: "a"}, false, false},                      // another event on it
		{wire.InMessage{ID: "3", TS: "2", Text: "b", Silent: true}, false, true},         // overheard
		{wire.InMessage{ID: "4", TS: "2", Text: "b"}, true, false},                       // and then asked
		{wire.InMessage{ID: "5", TS: "2", Text: "b"}, false, false},                      //
		{wire.InMessage{ID: "6", TS: "2", Text: "b", Change: wire.Edited}, false, false}, // nothing changed
		{wire.InMessage{ID: "7", TS: "2", Text: "c", Change: wire.Edited}, false, true},  //
		{wire.InMessage{ID: "8", TS: "2", Text: "c", Change: wire.Edited}, false, false}, //
		{wire.InMessage{ID: "9", TS: "2", Text: "b", Change: wire.Edited}, false, true},  // back again
		{wire.InMessage{ID: "10", TS: "2", Text: "b"}, false, false},                     // a late event on the first
		{wire.InMessage{ID: "11", TS: "2", Change: wire.Deleted}, false, true},           //
		{wire.InMessage{ID: "12", TS: "2", Change: wire.Deleted}, false, false},          //
		{wire.InMessage{ID: "13", TS: "3", Text: "z", Change: wire.Edited}, false, true}, // of one never seen
		{wire.InMessage{ID: "14", TS: "3", Text: "y"}, true, true},                       // and only now seen
		{wire.InMessage{ID: "16", TS: "5", Change: wire.Deleted}, false, true},
		{wire.InMessage{ID: "17", TS: "5", Text: "y"}, false, false}, // too late       //
		{wire.InMessage{ID: "15", TS: "4", Text: "a"}, true, true},   // the same text is no repetition
	} {
		a := arrive(x.m)
		if asked := a.Prompt.ID != 0; asked != x.asked || (a.Record != nil) != x.recorded {
			t.Errorf("%d %+v: asked %v, recorded %v; want %v, %v", i, x.m, asked, a.Record != nil, x.asked, x.recorded)
		}
	}
}

func TestFinishPost_records_what_stands_on_the_platform(t *testing.T) {
	ctx := context.Background()
	db, arrive := arriving(t)
	for i, state := range []PostState{PostDone, PostFailed, PostUnknown} {
		a := arrive(wire.InMessage{ID: string(state), TS: string(state), Reply: "7", Text: "x"})
		r, err := db.Settle(ctx, Settlement{Run: a.Prompt.ID, Session: a.Session.ID, Outcome: wire.OK, Text: "t", Post: "answer", Key: string(state)}, time.Now())
		if err != nil || r != nil {
			t.Fatalf("a record before it is posted: %+v, %v", r, err)
		}
		p, ok, err := db.NextPost(ctx)
		if err != nil || !ok || p.Thread != "7" || p.Text != "answer" || p.State != PostWaiting {
			t.Fatalf("post %+v, %v, %v", p, ok, err)
		}
		p.State, p.Error = state, "why"
		if state == PostDone {
			p.TS, p.Error = "99", ""
		}
		rec, err := db.FinishPost(ctx, p, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if done := state == PostDone; (rec.TS == "99") != done || (rec.Error == "") != done || rec.ThreadTS != "7" {
			t.Errorf("%s: record %+v", state, rec)
		}
		if lost, err := db.LostPosts(ctx, a.Session.ID); err != nil || len(lost) != i {
			t.Errorf("%s: %d lost, %v", state, len(lost), err)
		}
	}
	if _, ok, err := db.NextPost(ctx); ok || err != nil {
		t.Errorf("there is more to post: %v", err)
	}
}

func TestSettle_twice_posts_once(t *testing.T) {
	ctx := context.Background()
	db, arrive := arriving(t)
	a := arrive(wire.InMessage{ID: "1", TS: "1", Text: "x"})
	for range 2 {
		if _, err := db.Settle(ctx, Settlement{Run: a.Prompt.ID, Session: a.Session.ID, Outcome: wire.OK, Post: "answer", Key: "k"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := db.Unposted(ctx); err != nil || n != 1 {
		t.Errorf("%d posts, %v", n, err)
	}
}
