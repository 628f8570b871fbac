package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"mikan/wire"
)

// rememberedDeliveries is how many deliveries are known again.
const rememberedDeliveries = 50_000

// Arrival is what became of a delivered message.
type Arrival struct {
	Known   bool         // it was delivered before, and nothing was done
	Session Session      // the session of its key, if it asks for an answer
	Prompt  Prompt       // what it asks; its ID is 0 if it asks for no answer
	Record  *wire.Record // what was added to the log, if anything
}

// Arrive takes in a message of a platform, all of it or nothing: that it was
// delivered, its record in the log, and a prompt in the session called name, if
// the message asks for an answer. p has the prompt's Kind, Actor, Text and so on;
// cwd is for the transcript of a session that is made, or brought back.
//
// A message is known again by the id of its delivery and by its own ts, and a
// change by its text.
func (db *DB) Arrive(ctx context.Context, m wire.InMessage, name, cwd string, p Prompt) (Arrival, error) {
	return db.arrive(ctx, m, name, cwd, p, enqueue)
}

// Refuse is Arrive for a message that comes at the wrong time: it is recorded, and
// in the place of a prompt there is a post that says so.
func (db *DB) Refuse(ctx context.Context, m wire.InMessage, name, cwd string, p Prompt, post Post) (Arrival, error) {
	return db.arrive(ctx, m, name, cwd, p, func(ctx context.Context, tx *sql.Tx, p Prompt) (Prompt, error) {
		return Prompt{}, addNotice(ctx, tx, post, p.Accepted)
	})
}

func (db *DB) arrive(ctx context.Context, m wire.InMessage, name, cwd string, p Prompt, take func(context.Context, *sql.Tx, Prompt) (Prompt, error)) (Arrival, error) {
	var a Arrival
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		digest := sha256.Sum256([]byte(m.Text))
		seen, err := seenBefore(ctx, tx, m, digest[:])
		if err != nil {
			return err
		}
		if seen == repeated {
			a.Known = true
			return nil
		}
		if err := noteDelivery(ctx, tx, m, digest[:]); err != nil {
			return err
		}
		if m.Answered() {
			if a.Session, err = reviveSession(ctx, tx, name, cwd, p.Accepted); err != nil {
				return err
			}
			p.Session = a.Session.ID
			if a.Prompt, err = take(ctx, tx, p); err != nil {
				return err
			}
		}
		return a.record(ctx, tx, m, seen == recorded, p.Accepted)
	})
	return a, err
}

const tieRecord = `UPDATE record SET prompt = ? WHERE seq = (SELECT max(seq) FROM record WHERE ts = ? AND ts != '' AND change = '')
	RETURNING seq`

// record adds the record of m to the log, unless it is there, and ties it to the
// prompt that m has become.
func (a *Arrival) record(ctx context.Context, tx *sql.Tx, m wire.InMessage, there bool, at time.Time) (err error) {
	if there {
		err = tx.QueryRowContext(ctx, tieRecord, a.Prompt.ID, m.TS).Scan(&a.Prompt.record)
	} else {
		a.Record = recordOf(m)
		a.Record.Session = a.Session.Name
		a.Prompt.record, err = addRecord(ctx, tx, at, a.Record, place{voice: voiceOf(*a.Record), thread: m.Thread, ts: m.TS, prompt: a.Prompt.ID})
	}
	if err != nil || a.Prompt.ID == 0 {
		return err
	}
	return setRecord(ctx, tx, a.Prompt)
}

// sight is how much of a message is known.
type sight int

const (
	unseen   sight = iota
	recorded       // it is in the log, and asks for an answer only now
	repeated       // all of it
)

func seenBefore(ctx context.Context, tx *sql.Tx, m wire.InMessage, digest []byte) (sight, error) {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM delivery WHERE id = ?`, m.ID).Scan(&n); err != nil || n > 0 {
		return repeated, err
	}
	var asked, first bool // it was given to a session; only its changes have come
	var change wire.MessageChange
	var last []byte
	err := tx.QueryRowContext(ctx, `SELECT change, digest, (SELECT max(asked) FROM delivery WHERE ts = ?1),
		NOT EXISTS (SELECT 1 FROM delivery WHERE ts = ?1 AND change = '')
		FROM delivery WHERE ts = ?1 ORDER BY seq DESC LIMIT 1`, m.TS).Scan(&change, &last, &asked, &first)
	same := string(last) == string(digest)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return unseen, nil
	case err != nil:
		return unseen, err
	case m.Change == wire.Deleted && change == wire.Deleted, m.Change == wire.Edited && change != wire.Deleted && same:
		return repeated, nil
	case m.Change != "", first && change != wire.Deleted:
		return unseen, nil
	case m.Answered() && !asked && change == "":
		return recorded, nil
	}
	return repeated, nil
}

func noteDelivery(ctx context.Context, tx *sql.Tx, m wire.InMessage, digest []byte) error {
	res, err := tx.ExecContext(ctx, `INSERT INTO delivery(id, ts, asked, change, digest) VALUES (?, ?, ?, ?, ?)`, m.ID, m.TS, m.Answered(), m.Change, digest)
	if err != nil {
		return err
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM delivery WHERE seq <= ?`, seq-rememberedDeliveries)
	return err
}

// recordOf is a message as the log has it. Its files have not been fetched.
func recordOf(m wire.InMessage) *wire.Record {
	r := &wire.Record{
		TS: m.TS, ThreadTS: m.Thread, User: m.User, UserName: m.UserName, DisplayName: m.DisplayName,
		Text: m.Text, IsBot: m.Bot, Change: m.Change,
	}
	for _, a := range m.Attachments {
		r.Attachments = append(r.Attachments, wire.Attachment{Name: a.Name})
	}
	return r
}
