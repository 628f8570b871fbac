package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"mikan/wire"
)

// voice is who says something in the log.
type voice int

const (
	nobody   voice = iota // no session is to hear it
	somebody              // a person, or another bot
	ours
)

// place is what the store knows of a record besides its line.
type place struct {
	voice  voice
	thread string // the suffix of the session that is to hear it
	ts     string // the platform's id of the message, if it stands there
	prompt int64  // that it is, or answers
}

// addRecord adds r, which was made at t, to the log, and returns its number.
func addRecord(ctx context.Context, tx *sql.Tx, t time.Time, r *wire.Record, at place) (int64, error) {
	r.Date = wire.Stamp(t)
	if r.Attachments == nil {
		r.Attachments = []wire.Attachment{}
	}
	line, err := jsonLine(r)
	if err != nil {
		return 0, err
	}
	var seq int64
	err = tx.QueryRowContext(ctx, `INSERT INTO record(end, time, line, voice, thread, ts, change, prompt)
		VALUES ((SELECT coalesce(max(end), 0) FROM record) + ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq`,
		len(line), t.UnixMilli(), line, at.voice, at.thread, at.ts, r.Change, at.prompt).Scan(&seq)
	return seq, err
}

// voiceOf is who is heard in a record that is not ours: nobody in a command, or
// where there is no text.
func voiceOf(r wire.Record) voice {
	if r.Change != wire.Deleted && (strings.TrimSpace(r.Text) == "" || wire.IsChatCommand(r.Text)) {
		return nobody
	}
	return somebody
}

// addAnswer adds the record of our answer to p, which has the id ts on the
// platform if it stands there. What does not is for no session to hear, and
// neither is the notice of a run that never began.
func addAnswer(ctx context.Context, tx *sql.Tx, t time.Time, r *wire.Record, p Prompt, ts string) error {
	name, err := sessionName(ctx, tx, p.Session)
	if err != nil {
		return err
	}
	r.Session, r.Trigger = name, p.Source
	at := place{voice: ours, thread: r.ThreadTS, ts: ts, prompt: p.ID}
	if p.Source == "" { // it came by a file of its session, and so does the answer
		r.Trigger = p.TS()
		if !strings.HasPrefix(name, wire.TaskPrefix) { // main hears of a task
			at.thread, _ = wire.SessionSuffix(name)
		}
	}
	if p.began == 0 || r.Error != "" {
		at.voice = nobody
	}
	_, err = addRecord(ctx, tx, t, r, at)
	return err
}

// setRecord notes which record is that of p.
func setRecord(ctx context.Context, tx *sql.Tx, p Prompt) error {
	_, err := tx.ExecContext(ctx, `UPDATE prompt SET record = ? WHERE id = ?`, p.record, p.ID)
	return err
}

func sessionName(ctx context.Context, q querier, id int64) (name string, err error) {
	err = q.QueryRowContext(ctx, `SELECT name FROM session WHERE id = ?`, id).Scan(&name)
	return name, err
}
