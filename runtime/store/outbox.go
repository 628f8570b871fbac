package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"mikan/wire"
)

// PostState is where a post stands.
type PostState string

// The states of a post.
const (
	PostWaiting PostState = "waiting" // it is not on the platform
	PostSent    PostState = "sent"    // an adapter was asked to post it, and has not said what came of it
	PostDone    PostState = "posted"
	PostFailed  PostState = "failed"  // given up: it is not on the platform
	PostUnknown PostState = "unknown" // given up: nobody knows whether it is on the platform
)

// Post is a row of the outbox: an answer that is to stand on the platform. It
// gets there in the transaction that settles its run, and stays as a record of
// what came of it.
type Post struct {
	ID      int64
	Key     string // the same for every try, and of no other post
	Session int64  // 0: a notice, which is no answer
	Prompt  int64  // whose answer it is
	Thread  string
	Text    string
	State   PostState
	Tries   int
	Due     time.Time // it is not sent before
	Made    time.Time
	TS      string // the platform's id, once it is posted
	Error   string
}

const postColumns = `id, key, session, prompt, thread, text, state, tries, due, made, ts, error`

func scanPost(row interface{ Scan(...any) error }) (Post, error) {
	var p Post
	var due, made int64
	err := row.Scan(&p.ID, &p.Key, &p.Session, &p.Prompt, &p.Thread, &p.Text, &p.State, &p.Tries, &due, &made, &p.TS, &p.Error)
	p.Due, p.Made = time.UnixMilli(due), time.UnixMilli(made)
	return p, err
}

// addPost puts the answer to p into the outbox, if there is one to post.
func addPost(ctx context.Context, tx *sql.Tx, p Prompt, s Settlement, now time.Time) error {
	if s.Post == "" {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox(key, session, prompt, thread, text, state, made) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		s.Key, p.Session, p.ID, p.Reply, s.Post, PostWaiting, now.UnixMilli())
	return err
}

// addNotice puts a post into the outbox that is no answer.
func addNotice(ctx context.Context, tx *sql.Tx, p Post, now time.Time) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO outbox(key, session, prompt, thread, text, state, made) VALUES (?, 0, 0, ?, ?, ?, ?)`,
		p.Key, p.Thread, p.Text, PostWaiting, now.UnixMilli())
	return err
}

// NextPost returns the oldest post that is not settled; ok is false if there is
// none.
func (db *DB) NextPost(ctx context.Context) (p Post, ok bool, err error) {
	p, err = scanPost(db.sql.QueryRowContext(ctx, `SELECT `+postColumns+` FROM outbox WHERE state IN ('waiting', 'sent') ORDER BY id LIMIT 1`))
	if errors.Is(err, sql.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, err
}

// Unposted counts the posts that are not settled.
func (db *DB) Unposted(ctx context.Context) (n int, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(*) FROM outbox WHERE state IN ('waiting', 'sent')`).Scan(&n)
	return n, err
}

// SetPost records how far a post has got: its State, Tries, Due and Error.
func (db *DB) SetPost(ctx context.Context, p Post) error {
	_, err := db.sql.ExecContext(ctx, `UPDATE outbox SET state = ?, tries = ?, due = ?, error = ? WHERE id = ?`,
		p.State, p.Tries, p.Due.UnixMilli(), p.Error, p.ID)
	return err
}

// FinishPost settles a post, with its State, TS and Error, and records it in the
// log. It returns the record.
func (db *DB) FinishPost(ctx context.Context, p Post, now time.Time) (wire.Record, error) {
	r := wire.Record{TS: p.TS, ThreadTS: p.Thread, User: "bot", Text: p.Text, IsBot: true}
	switch {
	case r.TS == "" && p.Prompt == 0:
		r.TS = "post-" + strconv.FormatInt(p.ID, 10)
	case r.TS == "":
		r.TS = strconv.FormatInt(p.Prompt, 10)
	}
	if p.State != PostDone {
		r.Error = p.Error
	}
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE outbox SET state = ?, ts = ?, error = ?, tries = ? WHERE id = ?`, p.State, p.TS, p.Error, p.Tries, p.ID); err != nil {
			return err
		}
		if p.Prompt == 0 {
			_, err := addRecord(ctx, tx, now, &r, place{thread: p.Thread, ts: p.TS})
			return err
		}
		asked, err := scanPrompt(tx.QueryRowContext(ctx, `SELECT `+promptColumns+` FROM prompt WHERE id = ?`, p.Prompt))
		if err != nil {
			return err
		}
		return addAnswer(ctx, tx, now, &r, asked, p.TS)
	})
	return r, err
}

// LostPosts returns the posts of a session that are not on the platform, or may
// not be, and of which the model does not know, oldest first.
func (db *DB) LostPosts(ctx context.Context, session int64) ([]Post, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT `+postColumns+` FROM outbox
		WHERE session = ? AND state IN ('failed', 'unknown') AND NOT told ORDER BY id LIMIT 20`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Post
	for rows.Next() {
		p, err := scanPost(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Said records a message of ours that a chat file has posted. Of two with one key
// the second is the first; it gives that one's ts, and no record. A ts that is
// not given is made up.
func (db *DB) Said(ctx context.Context, key string, r wire.Record, now time.Time) (*wire.Record, string, error) {
	var made *wire.Record
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		var ts string
		err := tx.QueryRowContext(ctx, `SELECT ts FROM outbox WHERE key = ?`, key).Scan(&ts)
		if err == nil {
			r.TS = ts
			return nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		res, err := tx.ExecContext(ctx, `INSERT INTO outbox(key, session, prompt, thread, text, state, made, ts) VALUES (?, 0, 0, ?, ?, ?, ?, ?)`,
			key, r.ThreadTS, r.Text, PostDone, now.UnixMilli(), r.TS)
		if err != nil {
			return err
		}
		if r.TS == "" {
			id, err := res.LastInsertId()
			if err != nil {
				return err
			}
			r.TS = "post-" + strconv.FormatInt(id, 10)
			if _, err := tx.ExecContext(ctx, `UPDATE outbox SET ts = ? WHERE id = ?`, r.TS, id); err != nil {
				return err
			}
		}
		made = &r
		_, err = addRecord(ctx, tx, now, made, place{voice: ours, thread: made.ThreadTS, ts: made.TS})
		return err
	})
	return made, r.TS, err
}
