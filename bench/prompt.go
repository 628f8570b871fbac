package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"mikan/fs"
	"mikan/wire"
)

const promptBudget = 2 * time.Millisecond

// promptRows are what mikan adds to the model's time: from the acceptance of a
// prompt to the request, and from the model's last byte to the end of the reply.
// In each there is one commit, beside which the figures stand, and little else.
func promptRows(ctx context.Context, w *world) (err error) {
	m := newModel()
	defer m.Close()
	settings, models := m.files()
	h, err := w.home("prompt", settings, map[string]string{"models.json": models})
	if err != nil {
		return err
	}
	d, err := w.serve(ctx, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	db, err := openPlain(ctx, filepath.Join(h.state, "plain.db"))
	if err != nil {
		return err
	}
	defer db.Close()
	c, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	const office = "offices/local/bench"
	if err := c.Mkdir(ctx, office, 0o750); err != nil {
		return err
	}
	feed, err := c.Open(ctx, office+"/feed", fs.Read)
	if err != nil {
		return err
	}
	defer feed.Close()
	p := &prompter{c: c, model: m, events: bufio.NewReader(feed), ask: office + "/ask"}
	var before, after, commits []time.Duration
	for n := range w.times(200) + 5 {
		b, a, err := p.once(ctx)
		if err != nil {
			return err
		}
		commit, err := timed(1, func() error {
			_, err := db.ExecContext(ctx, "INSERT INTO t (line) VALUES (?)", make([]byte, 500))
			return err
		})
		if err != nil {
			return err
		}
		if n < 5 {
			continue // the first ones are not warm
		}
		before, after, commits = append(before, b), append(after, a), append(commits, commit)
	}
	commit := percentile(commits, 50)
	for _, r := range []struct {
		path string
		took []time.Duration
	}{{"prompt accepted to model asked, p50", before}, {"model's last byte to the reply's end, p50", after}} {
		took := percentile(r.took, 50)
		w.limit(r.path, "a commit", compared(took, commit), took-commit, promptBudget)
	}
	return nil
}

// openPlain opens a database that is as durable as an office's, for one commit
// at a time.
func openPlain(ctx context.Context, path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "CREATE TABLE t (id INTEGER PRIMARY KEY, line BLOB NOT NULL)")
	return db, err
}

// prompter asks one question after another.
type prompter struct {
	c      *fs.Client
	model  *model
	events *bufio.Reader
	ask    string
}

// once asks a question and returns the two times.
func (p *prompter) once(ctx context.Context) (before, after time.Duration, err error) {
	q, err := p.c.Open(ctx, p.ask, fs.Read|fs.Write)
	if err != nil {
		return 0, 0, err
	}
	defer q.Close()
	if _, err := q.Write([]byte("a question")); err != nil {
		return 0, 0, err
	}
	if err := q.Sync(ctx); err != nil {
		return 0, 0, err
	}
	info, err := q.Stat(ctx)
	if err != nil {
		return 0, 0, err
	}
	reply, err := io.ReadAll(q)
	end := time.Now()
	if err != nil {
		return 0, 0, err
	}
	if string(reply) != "an answer\n" {
		return 0, 0, fmt.Errorf("the reply is %q", reply)
	}
	accepted, err := p.accepted(strconv.FormatUint(uint64(info.Version), 10))
	return (<-p.model.asked).Sub(accepted), end.Sub(<-p.model.answered), err
}

// accepted reads the feed to the settlement of a prompt, and returns when it was
// accepted. The daemon's clock is ours.
func (p *prompter) accepted(id string) (at time.Time, err error) {
	for {
		line, err := p.events.ReadBytes('\n')
		if err != nil {
			return at, err
		}
		var e wire.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return at, err
		}
		switch {
		case e.Prompt != id:
		case e.Type == wire.Accepted:
			at = e.Time
		case e.Type == wire.Settled:
			return at, nil
		}
	}
}
