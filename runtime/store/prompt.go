package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"mikan/wire"
)

// QueueLimit is how many prompts may wait in one session.
const QueueLimit = 1000

// ErrQueueFull is returned by [DB.Accept] when QueueLimit prompts wait.
var ErrQueueFull = errors.New("the queue is full")

// Kind is how a prompt comes in.
type Kind string

// The kinds of prompt.
const (
	KindPrompt   Kind = "prompt"
	KindSteer    Kind = "steer"    // for the running turn
	KindFollowup Kind = "followup" // before what waits
)

// State is where a prompt stands.
type State string

// The states of a prompt.
const (
	Queued  State = "queued"
	Running State = "running"
	Done    State = "settled"
)

// Prompt is a row of the queue. It leaves the queue in the transaction that
// commits its message, and stays as a record of what came of it.
type Prompt struct {
	ID       int64
	Session  int64
	Kind     Kind
	Actor    string // "local:ann"
	Name     string // "ann"
	Source   string // the platform's id of the message; none: it did not come by a platform
	Thread   string // the thread it was written in
	Reply    string // the thread that its answer goes to
	Origin   string // what made it, such as "event"; none: a person, who waits for the answer
	Text     string
	State    State
	Run      int64 // the prompt in whose run this one is answered
	Outcome  wire.Outcome
	Error    string
	Answer   string // all text of the run
	Final    string // the text of its last message
	Accepted time.Time
	Ended    time.Time

	began  int64  // the first entry of its run
	record int64  // its record in the log
	ending int64  // the last entry of its run
	memory string // what [Session.Memory] was when it left the queue
}

// TS is the prompt's id as the log and the feed give it.
func (p Prompt) TS() string { return strconv.FormatInt(p.ID, 10) }

// Autonomous reports whether no person waits for the answer.
func (p Prompt) Autonomous() bool { return p.Origin != "" }

const promptColumns = `id, session, kind, actor, name, source, thread, reply, origin, text, state, run, outcome, error, answer, final, began, record, ending, memory, accepted, ended`

func scanPrompt(row interface{ Scan(...any) error }) (Prompt, error) {
	var p Prompt
	var accepted, ended int64
	err := row.Scan(&p.ID, &p.Session, &p.Kind, &p.Actor, &p.Name, &p.Source, &p.Thread, &p.Reply, &p.Origin, &p.Text, &p.State, &p.Run, &p.Outcome, &p.Error, &p.Answer, &p.Final,
		&p.began, &p.record, &p.ending, &p.memory, &accepted, &ended)
	p.Accepted, p.Ended = time.UnixMilli(accepted), time.UnixMilli(ended)
	return p, err
}

// Accept queues a prompt, whose Session, Kind, Actor, Name, Origin, Text and
// Accepted are given, and records it in the log. It returns the prompt with its id, and the
// record. An archived session is ErrNoSession.
func (db *DB) Accept(ctx context.Context, p Prompt) (Prompt, wire.Record, error) {
	var r wire.Record
	err := inTx(ctx, db.sql, func(tx *sql.Tx) (err error) {
		if p, err = enqueue(ctx, tx, p); err != nil {
			return err
		}
		name, err := sessionName(ctx, tx, p.Session)
		if err != nil {
			return err
		}
		suffix, _ := wire.SessionSuffix(name)
		r = wire.Record{TS: p.TS(), User: p.Actor, UserName: p.Name, Text: p.Text, Session: name}
		p.record, err = addRecord(ctx, tx, p.Accepted, &r, place{voice: voiceOf(r), thread: suffix, prompt: p.ID})
		if err != nil {
			return err
		}
		return setRecord(ctx, tx, p)
	})
	return p, r, err
}

// enqueue adds a prompt to the queue of its session.
func enqueue(ctx context.Context, tx *sql.Tx, p Prompt) (Prompt, error) {
	var n int
	var archived bool
	row := tx.QueryRowContext(ctx, `SELECT archived, (SELECT count(*) FROM prompt WHERE session = ?1 AND state = 'queued') FROM session WHERE id = ?1`, p.Session)
	switch err := row.Scan(&archived, &n); {
	case errors.Is(err, sql.ErrNoRows), err == nil && archived:
		return p, ErrNoSession
	case err != nil:
		return p, err
	case n >= QueueLimit:
		return p, ErrQueueFull
	}
	return insertPrompt(ctx, tx, p)
}

// insertPrompt adds a prompt to a queue, however full it is.
func insertPrompt(ctx context.Context, tx *sql.Tx, p Prompt) (Prompt, error) {
	p.State = Queued
	res, err := tx.ExecContext(ctx, `INSERT INTO prompt(session, kind, actor, name, source, thread, reply, origin, text, state, accepted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Session, p.Kind, p.Actor, p.Name, p.Source, p.Thread, p.Reply, p.Origin, p.Text, p.State, p.Accepted.UnixMilli())
	if err != nil {
		return p, err
	}
	p.ID, err = res.LastInsertId()
	return p, err
}

// Next returns the prompt that a session is to run next: a steer or followup
// that nothing took, else the oldest. ok is false if none waits. If the session
// is to begin a new branch, it has begun when Next returns, and fresh says so.
func (db *DB) Next(ctx context.Context, session int64, now time.Time) (p Prompt, ok, fresh bool, err error) {
	err = inTx(ctx, db.sql, func(tx *sql.Tx) error {
		s, err := sessionByID(ctx, tx, session)
		if err != nil {
			return err
		}
		if fresh = s.Renew; fresh {
			if err := reset(ctx, tx, session, now); err != nil {
				return err
			}
		}
		p, err = scanPrompt(tx.QueryRowContext(ctx, `SELECT `+promptColumns+` FROM prompt
			WHERE session = ? AND state = 'queued' ORDER BY kind = 'prompt', id LIMIT 1`, session))
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		ok = err == nil
		return err
	})
	return p, ok, fresh, err
}

// Steers returns the steering texts that wait in a session, oldest first.
func (db *DB) Steers(ctx context.Context, session int64) ([]Prompt, error) {
	return db.prompts(ctx, `WHERE session = ? AND state = 'queued' AND kind = 'steer' ORDER BY id`, session)
}

// Waiting returns the ids of the sessions that have something to do.
func (db *DB) Waiting(ctx context.Context) ([]int64, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT DISTINCT session FROM prompt WHERE state = 'queued'
		UNION SELECT id FROM session WHERE renew`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Load is how much a session, or an office, has to do.
type Load struct{ Running, Queued int }

// Load counts the prompts of a session, or of all if session is 0, that have
// not settled. A run counts once, however many prompts it took.
func (db *DB) Load(ctx context.Context, session int64) (l Load, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(DISTINCT CASE state WHEN 'running' THEN run END), count(CASE state WHEN 'queued' THEN 1 END)
		FROM prompt WHERE state != 'settled' AND (session = ?1 OR ?1 = 0)`, session).Scan(&l.Running, &l.Queued)
	return l, err
}

// Taken returns the prompts that the run of prompt id took besides it.
func (db *DB) Taken(ctx context.Context, id int64) ([]Prompt, error) {
	return db.prompts(ctx, `WHERE state = 'running' AND run = ?1 AND id != ?1 ORDER BY id`, id)
}

// RunningPrompt returns the prompt of a session that has left the queue first
// and has not settled; ok is false if there is none.
func (db *DB) RunningPrompt(ctx context.Context, session int64) (p Prompt, ok bool, err error) {
	return db.onePrompt(ctx, `WHERE session = ? AND state = 'running' ORDER BY id = run DESC LIMIT 1`, session)
}

func (db *DB) prompts(ctx context.Context, where string, args ...any) ([]Prompt, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT `+promptColumns+` FROM prompt `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Prompt
	for rows.Next() {
		p, err := scanPrompt(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Newest returns the prompt of a session that was accepted last; ok is false if
// there has been none.
func (db *DB) Newest(ctx context.Context, session int64) (p Prompt, ok bool, err error) {
	return db.onePrompt(ctx, `WHERE session = ? ORDER BY id DESC LIMIT 1`, session)
}

// LastOutcome returns how the run of a session that settled last ended.
func (db *DB) LastOutcome(ctx context.Context, session int64) (o wire.Outcome, reason string, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT outcome, error FROM prompt WHERE session = ? AND settled > 0
		ORDER BY settled DESC LIMIT 1`, session).Scan(&o, &reason)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return o, reason, err
}

// LastAnswer returns the prompt of a session whose run ended well last; ok is
// false if none has.
func (db *DB) LastAnswer(ctx context.Context, session int64) (p Prompt, ok bool, err error) {
	return db.onePrompt(ctx, `WHERE session = ? AND outcome = 'ok' ORDER BY settled DESC LIMIT 1`, session)
}

// Prompt returns the prompt with an id.
func (db *DB) Prompt(ctx context.Context, id int64) (p Prompt, ok bool, err error) {
	return db.onePrompt(ctx, `WHERE id = ?`, id)
}

func (db *DB) onePrompt(ctx context.Context, where string, args ...any) (Prompt, bool, error) {
	p, err := scanPrompt(db.sql.QueryRowContext(ctx, `SELECT `+promptColumns+` FROM prompt `+where, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return Prompt{}, false, nil
	}
	return p, err == nil, err
}

// Told is what a session's model has been told besides messages: its system
// prompt, a digest of what that prompt would be by now, the last of the answers
// that are not on the platform, and the last record that it has heard.
type Told struct {
	System, Memory string
	Lost           int64
	Heard          int64
}

// Begin takes prompts out of the queue, into the run of the prompt run, and
// appends their messages to the session, with what else the model is told, all
// in one transaction. A prompt that is not queued any more is an error.
func (db *DB) Begin(ctx context.Context, run int64, taken []Prompt, msgs []wire.Message, told Told, now time.Time) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error {
		session := taken[0].Session
		for _, p := range taken {
			res, err := tx.ExecContext(ctx, `UPDATE prompt SET state = 'running', run = ?,
				began = (SELECT coalesce(max(seq), 0) + 1 FROM entry) WHERE id = ? AND state = 'queued'`, run, p.ID)
			if err != nil {
				return err
			}
			if n, err := res.RowsAffected(); err != nil || n != 1 {
				return errors.Join(err, fmt.Errorf("prompt %d is not queued", p.ID))
			}
		}
		if err := silence(ctx, tx, taken, msgs); err != nil {
			return err
		}
		if told != (Told{}) {
			if err := tell(ctx, tx, session, told); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE prompt SET memory = (SELECT memory FROM session WHERE id = ?1)
			WHERE session = ?1 AND state = 'running' AND run = ?2`, session, run)
		if err != nil {
			return err
		}
		return appendMessages(ctx, tx, session, msgs, now)
	})
}

// silence keeps from the other sessions what a hook has changed in the prompts
// that were taken: their records still have it. msgs has a user message for each.
func silence(ctx context.Context, tx *sql.Tx, taken []Prompt, msgs []wire.Message) error {
	for _, m := range msgs {
		if m.Role != wire.User || len(taken) == 0 {
			continue
		}
		_, err := tx.ExecContext(ctx, `UPDATE record SET voice = 0
			WHERE seq = (SELECT record FROM prompt WHERE id = ? AND substr(?, -length(text)) != text)`, taken[0].ID, m.PlainText())
		if err != nil {
			return err
		}
		taken = taken[1:]
	}
	return nil
}

// tell notes what a session's model has been told.
func tell(ctx context.Context, tx *sql.Tx, session int64, told Told) error {
	if _, err := tx.ExecContext(ctx, `UPDATE session SET system = ?, memory = ?, heard = max(heard, ?) WHERE id = ?`, told.System, told.Memory, told.Heard, session); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE outbox SET told = 1 WHERE session = ? AND id <= ? AND state IN ('failed', 'unknown') AND NOT told`, session, told.Lost)
	return err
}

// Append adds messages to a session and counts their usage.
func (db *DB) Append(ctx context.Context, session int64, msgs []wire.Message, now time.Time) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error { return appendMessages(ctx, tx, session, msgs, now) })
}

func appendMessages(ctx context.Context, tx *sql.Tx, session int64, msgs []wire.Message, now time.Time) error {
	for _, m := range msgs {
		if m.Usage != nil {
			if err := addUsage(ctx, tx, session, m); err != nil {
				return err
			}
		}
	}
	return appendEntries(ctx, tx, session, now, messageEntries(msgs))
}

// Settlement is how a run ended.
type Settlement struct {
	Run     int64 // the prompt that began it
	Session int64
	Outcome wire.Outcome
	Error   string
	Answer  string
	Final   string
	Text    string // for the log; nothing is logged if it is empty
	Msgs    []wire.Message
	Spent   Spent
	Lost    []wire.Message // attempts of model calls that count, and are in no message
	Post    string         // for the platform, if the prompt came by one; instead of Text
	Key     string         // of the post
	Refused bool           // a hook has refused the prompt: no session is to hear it
}

// Settle records how a run ended: its last messages, the outcome of every prompt
// that it took, and the record of its answer, which it returns if there is one.
// What is to be posted on the platform goes into the outbox instead, and is
// recorded when that is done. A run that has settled stays as it is.
func (db *DB) Settle(ctx context.Context, s Settlement, now time.Time) (*wire.Record, error) {
	var r *wire.Record
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		if open, err := settleRun(ctx, tx, s, now); err != nil || !open {
			return err
		}
		p, err := scanPrompt(tx.QueryRowContext(ctx, `SELECT `+promptColumns+` FROM prompt WHERE id = ?`, s.Run))
		switch {
		case err != nil:
			return err
		case p.Source != "":
			return addPost(ctx, tx, p, s, now)
		case s.Text == "":
			return nil
		}
		r = &wire.Record{TS: p.TS(), User: "bot", Text: s.Text, IsBot: true}
		return addAnswer(ctx, tx, now, r, p, "")
	})
	return r, err
}

// endRun notes where a run has ended. A prompt that a hook refused, or that was
// stopped before it began, is not heard any more.
func endRun(ctx context.Context, tx *sql.Tx, s Settlement, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE session SET settled = leaf, changed = ? WHERE id = ?`, now.UnixMilli(), s.Session); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `UPDATE prompt SET ending = (SELECT leaf FROM session WHERE id = ?2)
		WHERE session = ?2 AND settled = (SELECT settled FROM prompt WHERE id = ?1) AND began != 0`, s.Run, s.Session)
	if err != nil || !s.Refused && s.Outcome != wire.Stopped {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE record SET voice = 0 WHERE seq = (SELECT record FROM prompt WHERE id = ? AND began = 0)`, s.Run)
	return err
}

// settleRun records the outcome of every prompt that a run took, its last messages
// and what it has used. It reports false, and changes nothing, if the run has settled.
func settleRun(ctx context.Context, tx *sql.Tx, s Settlement, now time.Time) (bool, error) {
	res, err := tx.ExecContext(ctx, `UPDATE prompt SET state = 'settled', run = ?1, outcome = ?2, error = ?3, answer = ?4, final = ?5,
		settled = (SELECT coalesce(max(settled), 0) + 1 FROM prompt), ended = ?6
		WHERE state != 'settled' AND (id = ?1 OR state = 'running' AND run = ?1)`, s.Run, s.Outcome, s.Error, s.Answer, s.Final, now.UnixMilli())
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if err := appendMessages(ctx, tx, s.Session, s.Msgs, now); err != nil {
		return false, err
	}
	for _, m := range s.Lost {
		if err := addUsage(ctx, tx, s.Session, m); err != nil {
			return false, err
		}
	}
	if err := spend(ctx, tx, s.Run, s.Spent); err != nil {
		return false, err
	}
	err = endRun(ctx, tx, s, now)
	return err == nil, err
}

// RunMessages returns what a session has of the run that p is in, from its first
// message on.
func (db *DB) RunMessages(ctx context.Context, p Prompt) ([]wire.Message, error) {
	return db.readMessages(ctx, segment{source: p.Session, first: p.began, last: math.MaxInt64}, nil)
}
