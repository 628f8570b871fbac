package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"mikan/wire"
)

// The errors of a look-up of sessions and entries.
var (
	ErrNoSession     = errors.New("no such session")
	ErrNoEntry       = errors.New("no such entry")
	ErrSessionExists = errors.New("the session exists")
	ErrBusy          = errors.New("something runs or waits")
)

// Session is a row of the session table.
type Session struct {
	ID       int64
	Name     string
	Title    string
	Archived bool
	Size     int64 // bytes of the transcript
	Model    string
	Thinking string
	System   string
	Memory   string
	Renew    bool // a reset is due before the next run
	Changed  time.Time

	base, root, leaf, settled int64
	heard                     int64 // the last record that it has been given, or need not be
}

// Unused reports whether the session has no entries, of its own or inherited.
func (s Session) Unused() bool { return s.leaf == 0 }

const sessionColumns = `id, name, title, archived, size, model, thinking, system, memory, renew, changed, base, root, leaf, settled, heard`

func scanSession(row interface{ Scan(...any) error }) (Session, error) {
	var s Session
	var ms int64
	err := row.Scan(&s.ID, &s.Name, &s.Title, &s.Archived, &s.Size, &s.Model, &s.Thinking, &s.System, &s.Memory, &s.Renew, &ms,
		&s.base, &s.root, &s.leaf, &s.settled, &s.heard)
	if errors.Is(err, sql.ErrNoRows) {
		return s, ErrNoSession
	}
	s.Changed = time.UnixMilli(ms)
	return s, err
}

// Sessions returns all sessions, archived ones too, by name.
func (db *DB) Sessions(ctx context.Context) ([]Session, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT `+sessionColumns+` FROM session ORDER BY name`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Session
	for rows.Next() {
		s, err := scanSession(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// Session returns the session called name, archived or not, or ErrNoSession.
func (db *DB) Session(ctx context.Context, name string) (Session, error) {
	return sessionNamed(ctx, db.sql, name)
}

type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func sessionNamed(ctx context.Context, q querier, name string) (Session, error) {
	return scanSession(q.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM session WHERE name = ?`, name))
}

func sessionByID(ctx context.Context, q querier, id int64) (Session, error) {
	return scanSession(q.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM session WHERE id = ?`, id))
}

// CreateSession makes an empty session, or brings an archived one back; one
// that is there is ErrSessionExists. cwd is for the transcript's header.
func (db *DB) CreateSession(ctx context.Context, name, cwd string, now time.Time) (Session, error) {
	var s Session
	err := inTx(ctx, db.sql, func(tx *sql.Tx) (err error) {
		if old, err := sessionNamed(ctx, tx, name); err == nil && !old.Archived {
			return ErrSessionExists
		}
		s, err = reviveSession(ctx, tx, name, cwd, now)
		return err
	})
	return s, err
}

// reviveSession is the session called name, made or brought back if need be.
func reviveSession(ctx context.Context, tx *sql.Tx, name, cwd string, now time.Time) (Session, error) {
	s, err := sessionNamed(ctx, tx, name)
	switch {
	case errors.Is(err, ErrNoSession):
		return insertSession(ctx, tx, name, wire.Header{Cwd: cwd}, now)
	case err == nil && s.Archived:
		s.Archived = false
		_, err = tx.ExecContext(ctx, `UPDATE session SET archived = 0, changed = ? WHERE id = ?`, now.UnixMilli(), s.ID)
	}
	return s, err
}

func insertSession(ctx context.Context, tx *sql.Tx, name string, h wire.Header, now time.Time) (Session, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return Session{}, err
	}
	h.Type, h.Version, h.ID, h.Timestamp = "session", wire.TranscriptVersion, id.String(), wire.Stamp(now)
	header, err := jsonLine(h)
	if err != nil {
		return Session{}, err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO session(name, header, base, size, changed) VALUES (?, ?, ?, ?, ?)`,
		name, header, len(header), len(header), now.UnixMilli())
	if err != nil {
		return Session{}, err
	}
	return sessionNamed(ctx, tx, name)
}

// Change is what a person sets of a session; nil leaves it as it is.
type Change struct {
	Title, Model, Thinking *string
}

// ChangeSession changes a session. entries, if any, are appended in the same
// transaction.
func (db *DB) ChangeSession(ctx context.Context, id int64, c Change, now time.Time, entries ...wire.Entry) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error {
		if err := appendEntries(ctx, tx, id, now, entries); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `UPDATE session SET title = coalesce(?, title), model = coalesce(?, model),
			thinking = coalesce(?, thinking), changed = ? WHERE id = ?`, c.Title, c.Model, c.Thinking, now.UnixMilli(), id)
		return err
	})
}

// ArchiveSession puts a session away, unless anything of it runs or waits, which
// is ErrBusy.
func (db *DB) ArchiveSession(ctx context.Context, id int64, now time.Time) error {
	res, err := db.sql.ExecContext(ctx, `UPDATE session SET archived = 1, changed = ?1 WHERE id = ?2
		AND NOT EXISTS (SELECT 1 FROM prompt WHERE session = ?2 AND state != 'settled')`, now.UnixMilli(), id)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(err, ErrBusy)
	}
	return nil
}

// Renew notes that a session is to begin a new branch before its next run, and
// that it has no need of what was said in the chat until now.
func (db *DB) Renew(ctx context.Context, session int64) error {
	_, err := db.sql.ExecContext(ctx, `UPDATE session SET renew = 1, heard = (SELECT coalesce(max(seq), 0) FROM record) WHERE id = ?`, session)
	return err
}

// reset begins a new branch: what comes next has none of the past before it.
func reset(ctx context.Context, tx *sql.Tx, session int64, now time.Time) error {
	if _, err := tx.ExecContext(ctx, `UPDATE session SET leaf = 0, renew = 0, system = '', memory = '' WHERE id = ?`, session); err != nil {
		return err
	}
	if err := appendEntries(ctx, tx, session, now, []wire.Entry{{Type: wire.EntryCustom, CustomType: wire.CustomReset}}); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, `UPDATE session SET root = leaf, settled = leaf WHERE id = ?`, session); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO branch(session, root) SELECT id, root FROM session WHERE id = ?`, session)
	return err
}

func jsonLine(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return append(b, '\n'), nil
}
