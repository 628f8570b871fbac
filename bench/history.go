package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

const (
	longHistory  = 100_000 // entries
	shortHistory = 100
	liveContext  = 50 // messages of either that the model sees
)

// historyRows are a turn in a session with a long history beside one in a session
// with a short one. The model sees as much of either: nothing else is to be read.
func historyRows(ctx context.Context, w *world) error {
	m := newModel()
	defer m.Close()
	settings, models := m.files()
	h, err := w.home("history", settings, map[string]string{"models.json": models})
	if err != nil {
		return err
	}
	for name, n := range map[string]int{"long": w.times(longHistory), "short": shortHistory, "first": shortHistory} {
		if err := fillSession(ctx, h, name, n); err != nil {
			return err
		}
	}
	var warm, cold []dueled
	for round := range max(2, w.times(10)) {
		c, d, err := turnsOf(ctx, w, h, m, round)
		if err != nil {
			return err
		}
		warm, cold = append(warm, d), append(cold, c)
	}
	w.cost("a turn in a session of 100,000 entries", "of 100", middle(warm), 1.2)
	w.cost("its first turn after a start", "of 100", middle(cold), 1.2)
	return nil
}

// fillSession makes an office whose session main has n entries.
func fillSession(ctx context.Context, h home, name string, n int) error {
	p, err := open(ctx, h)
	if err != nil {
		return err
	}
	a, err := runtime.NewAddress(runtime.Local, name)
	if err == nil {
		err = p.Mkdir(ctx, "offices/local/"+name, 0o750)
	}
	path := p.rt.Workspace().Office(a).Sessions
	if err = errors.Join(err, p.rt.Close()); err != nil {
		return err
	}
	if err := fillQueue(ctx, path, n/2); err != nil {
		return err
	}
	db, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	defer db.Close()
	s, err := db.Session(ctx, wire.MainSession)
	if err != nil {
		return err
	}
	for at := 0; at < n; at += shortHistory {
		var msgs []wire.Message
		for i := range shortHistory {
			role := []string{wire.User, wire.Assistant}[i%2]
			text := fmt.Sprintf("message %d of the %s history, %s", at+i, name, strings.Repeat("with some words ", 10))
			msgs = append(msgs, wire.Message{Role: role, Content: []wire.Part{wire.TextPart(text)}})
		}
		if err := db.Append(ctx, s.ID, msgs, time.Now()); err != nil {
			return err
		}
	}
	_, err = db.Compact(ctx, s.ID, store.Compaction{Entry: wire.Entry{Summary: "what was said"}, Keep: liveContext}, time.Now())
	return err
}

// fillQueue adds prompts that have settled, which a turn should not feel either.
func fillQueue(ctx context.Context, path string, n int) error {
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO prompt(session, kind, actor, text, state, outcome, settled, accepted)
		SELECT s.id, 'prompt', 'local:ann', 'a prompt', 'settled', 'ok', i, 1 FROM n, session s`, n)
	return err
}

// turnsOf starts a daemon, lets it take a turn in a session of its own, and
// returns how long the first turns in the two sessions took, which take turns at
// being first themselves, and how long the next ones.
func turnsOf(ctx context.Context, w *world, h home, m *model, round int) (cold, warm dueled, err error) {
	d, err := w.serve(ctx, h)
	if err != nil {
		return cold, warm, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	c, err := d.dial(ctx)
	if err != nil {
		return cold, warm, err
	}
	defer c.Close()
	turns := map[string]func() (time.Duration, error){}
	for _, name := range []string{"first", "long", "short"} {
		if turns[name], err = turnIn(ctx, c, m, name); err != nil {
			return cold, warm, err
		}
	}
	if _, err := turns["first"](); err != nil {
		return cold, warm, err
	}
	long, short := turns["long"], turns["short"]
	if cold, err = firstTurns(long, short, round); err != nil {
		return cold, warm, err
	}
	warm, err = duel(w.times(50), long, short)
	return cold, warm, err
}

func firstTurns(long, short func() (time.Duration, error), round int) (dueled, error) {
	if round%2 == 0 {
		return duel(1, long, short)
	}
	d, err := duel(1, short, long)
	return compared(d.peer, d.ours), err
}

// turnIn returns what gives an office a prompt and times it to the end of the
// reply.
func turnIn(ctx context.Context, c *fs.Client, m *model, name string) (func() (time.Duration, error), error) {
	office := "offices/local/" + name
	feed, err := c.Open(ctx, office+"/feed", fs.Read)
	if err != nil {
		return nil, err
	}
	p := &prompter{c: c, model: m, events: bufio.NewReader(feed), ask: office + "/ask"}
	return func() (time.Duration, error) {
		return timed(1, func() error { _, _, err := p.once(ctx); return err })
	}, nil
}

// middle is the median of several duels.
func middle(list []dueled) dueled {
	var ours, peer []time.Duration
	var ratios []float64
	for _, d := range list {
		ours, peer, ratios = append(ours, d.ours), append(peer, d.peer), append(ratios, d.ratio)
	}
	return dueled{percentile(ours, 50), percentile(peer, 50), percentile(ratios, 50)}
}
