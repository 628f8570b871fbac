package store

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"mikan/wire"
)

// The bounds of tasks.
const (
	TaskLimit   = 8 // that have not ended, of one office
	resumeLimit = 2 // starts that go on with one
	resumeAge   = 24 * time.Hour
)

// ErrTooManyTasks is returned by [DB.StartTask] when TaskLimit tasks have not
// ended.
var ErrTooManyTasks = errors.New("too many tasks")

// NewTask is what a task begins with.
type NewTask struct {
	By     Prompt // in whose run it begins: its actor is the task's, and Reply its thread
	Text   string // what to do
	Title  string
	Ack    string // for the chat, at once
	Office string // begins the key of the acknowledgement's post
	Cwd    string // for the transcript's header
}

// StartTask makes the session of a task with its prompt, and gives the chat the
// acknowledgement, all in one transaction: by the outbox if the prompt in whose
// run it begins came by a platform, else as a record of the log, which it returns.
func (db *DB) StartTask(ctx context.Context, n NewTask, now time.Time) (s Session, p Prompt, r *wire.Record, err error) {
	err = inTx(ctx, db.sql, func(tx *sql.Tx) error {
		if s, err = insertTask(ctx, tx, n, now); err != nil {
			return err
		}
		p = n.By
		p.Session, p.Kind, p.Text, p.Accepted = s.ID, KindPrompt, n.Text, now
		if p, err = enqueue(ctx, tx, p); err != nil {
			return err
		}
		// Who began the task has said it himself: no session is to hear it.
		if p.Source != "" {
			return addNotice(ctx, tx, Post{Key: n.Office + "/" + p.TS() + "/ack", Thread: p.Reply, Text: n.Ack}, now)
		}
		r = &wire.Record{TS: p.TS(), User: "bot", Text: n.Ack, IsBot: true, Session: s.Name, Trigger: p.TS()}
		_, err := addRecord(ctx, tx, now, r, place{prompt: p.ID})
		return err
	})
	return s, p, r, err
}

func insertTask(ctx context.Context, tx *sql.Tx, n NewTask, now time.Time) (Session, error) {
	var id, open int64
	err := tx.QueryRowContext(ctx, `SELECT (SELECT coalesce(max(id), 0) + 1 FROM task),
		(SELECT count(DISTINCT t.session) FROM task t JOIN prompt p ON p.session = t.session AND p.state != 'settled')`).Scan(&id, &open)
	if err != nil {
		return Session{}, err
	}
	if open >= TaskLimit {
		return Session{}, ErrTooManyTasks
	}
	parent, err := headerOf(ctx, tx, n.By.Session)
	if err != nil {
		return Session{}, err
	}
	s, err := insertSession(ctx, tx, wire.TaskPrefix+strconv.FormatInt(id, 10), wire.Header{Cwd: n.Cwd, ParentSession: parent.ID}, now)
	if err != nil {
		return s, err
	}
	s.Title = n.Title
	if _, err := tx.ExecContext(ctx, `UPDATE session SET title = ? WHERE id = ?`, n.Title, s.ID); err != nil {
		return s, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO task(id, session, started) VALUES (?, ?, ?)`, id, s.ID, now.UnixMilli())
	return s, err
}

// ResumeTask settles the run of a task that the end of the daemon interrupted,
// and gives the task another prompt, note, that runs next. The chat is told
// nothing. It reports false, and does nothing, for a task that was resumed too
// often, began too long ago or is to start afresh.
func (db *DB) ResumeTask(ctx context.Context, run Prompt, s Settlement, note string, now time.Time) (resumed bool, err error) {
	err = inTx(ctx, db.sql, func(tx *sql.Tx) error {
		var times, started int64
		var afresh bool
		row := tx.QueryRowContext(ctx, `SELECT t.resumed, t.started, s.renew FROM task t JOIN session s ON s.id = t.session WHERE s.id = ?`, s.Session)
		if err := row.Scan(&times, &started, &afresh); err != nil {
			return err
		}
		if afresh || times >= resumeLimit || now.Sub(time.UnixMilli(started)) > resumeAge {
			return nil
		}
		if resumed, err = settleRun(ctx, tx, s, now); err != nil || !resumed {
			return err
		}
		run.Kind, run.Text, run.Accepted = KindFollowup, note, now
		if _, err := insertPrompt(ctx, tx, run); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE task SET resumed = resumed + 1 WHERE session = ?`, s.Session)
		return err
	})
	return resumed, err
}

// Task is how a task stands.
type Task struct {
	ID      int64
	Title   string
	Started time.Time
	Prompt  Prompt // that it is at, or else its newest
}

// Tasks returns the newest tasks that are not archived, at most limit, the newest
// first. With an id it returns that one, or none.
func (db *DB) Tasks(ctx context.Context, id int64, limit int) ([]Task, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT t.id, s.title, t.started,
			(SELECT p.id FROM prompt p WHERE p.session = s.id ORDER BY p.state = 'running' AND p.id = p.run DESC, p.id DESC LIMIT 1)
		FROM task t JOIN session s ON s.id = t.session WHERE NOT s.archived AND (?1 = 0 OR t.id = ?1) ORDER BY t.id DESC LIMIT ?2`, id, limit)
	if err != nil {
		return nil, err
	}
	var list []Task
	for rows.Next() {
		var t Task
		var started int64
		if err := rows.Scan(&t.ID, &t.Title, &started, &t.Prompt.ID); err != nil {
			rows.Close()
			return nil, err
		}
		t.Started = time.UnixMilli(started)
		list = append(list, t)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil { // the next queries need the connection
		return nil, err
	}
	for i := range list {
		p, _, err := db.Prompt(ctx, list[i].Prompt.ID)
		if err != nil {
			return nil, err
		}
		list[i].Prompt = p
	}
	return list, nil
}

// OpenTasks counts the tasks that have not ended.
func (db *DB) OpenTasks(ctx context.Context) (n int, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(DISTINCT t.session) FROM task t JOIN prompt p ON p.session = t.session AND p.state != 'settled'`).Scan(&n)
	return n, err
}
