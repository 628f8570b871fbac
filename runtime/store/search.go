package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"mikan/wire"
)

// Page is a part of a list that is given newest first.
type Page struct{ Limit, Skip int }

// Past is a session as a list of them shows it.
type Past struct {
	Session
	Header wire.Header
}

// PastEntry is an entry with the name of the session that it was written in.
type PastEntry struct {
	Session string
	wire.Entry
}

// PastSessions returns the sessions, archived ones too, that changed last.
func (db *DB) PastSessions(ctx context.Context, p Page) ([]Past, error) {
	return db.pastSessions(ctx, `ORDER BY changed DESC, id DESC LIMIT ? OFFSET ?`, p.Limit, p.Skip)
}

// minPrefix is how many characters of a session's id name it.
const minPrefix = 8

// SessionCalled finds a session by its name or by the beginning of its id, at
// least 8 characters. One that is not there is ErrNoSession.
func (db *DB) SessionCalled(ctx context.Context, ref string) (Session, error) {
	s, err := db.Session(ctx, ref)
	if !errors.Is(err, ErrNoSession) || len(ref) < minPrefix {
		return s, err
	}
	list, err := db.pastSessions(ctx, `WHERE substr(json_extract(CAST(header AS TEXT), '$.id'), 1, ?) = ? LIMIT 2`, len(ref), strings.ToLower(ref))
	switch {
	case err != nil:
		return s, err
	case len(list) == 0:
		return s, ErrNoSession
	case len(list) == 2:
		return s, fmt.Errorf("several sessions have an id that begins with %s; give more of it", ref)
	}
	return list[0].Session, nil
}

func (db *DB) pastSessions(ctx context.Context, where string, args ...any) ([]Past, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT `+sessionColumns+`, header FROM session `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Past
	for rows.Next() {
		var p Past
		var header []byte
		if p.Session, err = scanSession(also{rows, &header}); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(header, &p.Header); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// also scans one column more.
type also struct {
	*sql.Rows
	more any
}

// Scan is that of the rows, with the column more.
func (a also) Scan(dest ...any) error { return a.Rows.Scan(append(dest, a.more)...) }

// Search returns the entries of a session's transcript, of any branch, or of all
// sessions if it is 0, in which all words of query are found. It is for what
// people type: nothing in it is syntax, and none of it is an error.
func (db *DB) Search(ctx context.Context, query string, session int64, p Page) ([]PastEntry, error) {
	match := expression(query)
	if match == "" {
		return nil, nil
	}
	where, args, err := db.within(ctx, session)
	if err != nil {
		return nil, err
	}
	return db.pastEntries(ctx, `JOIN entry_words w ON w.rowid = e.seq WHERE entry_words MATCH ? AND `+where+`
		ORDER BY w.rowid DESC LIMIT ? OFFSET ?`, append(append([]any{match}, args...), p.Limit, p.Skip)...)
}

// within is the condition that an entry e stands in a session's transcript.
func (db *DB) within(ctx context.Context, session int64) (where string, args []any, err error) {
	if session == 0 {
		return "true", nil, nil
	}
	parts, err := db.transcript(ctx, session)
	for i, p := range parts {
		if i > 0 {
			where += " OR "
		}
		where += "e.session = ? AND e.seq BETWEEN ? AND ?"
		args = append(args, p.source, p.first, p.last)
	}
	return "(" + where + ")", args, err
}

// transcript is all of a session's transcript, of every branch.
func (db *DB) transcript(ctx context.Context, session int64) ([]segment, error) {
	parts, err := inherited(ctx, db.sql, session)
	return append(parts, segment{source: session, last: math.MaxInt64}), err
}

// Entries returns the entries of a session's transcript, of every branch. If an
// entry is given, they are those around it: it is in the middle of the first
// page.
func (db *DB) Entries(ctx context.Context, session int64, around string, p Page) ([]PastEntry, error) {
	parts, err := db.transcript(ctx, session)
	if err != nil {
		return nil, err
	}
	upTo, err := db.pageEnd(ctx, session, around, p)
	if err != nil {
		return nil, err
	}
	var list []PastEntry
	for i := len(parts) - 1; i >= 0 && len(list) < p.Limit; i-- {
		part := parts[i]
		part.last = min(part.last, upTo)
		if n, err := db.entryCount(ctx, part, p.Skip); err != nil || n < p.Skip {
			p.Skip -= n
			if err != nil {
				return nil, err
			}
			continue
		}
		more, err := db.pastEntries(ctx, `WHERE e.session = ? AND e.seq BETWEEN ? AND ? ORDER BY e.seq DESC LIMIT ? OFFSET ?`,
			part.source, part.first, part.last, p.Limit-len(list), p.Skip)
		if err != nil {
			return nil, err
		}
		list, p.Skip = append(list, more...), 0
	}
	return list, nil
}

// pageEnd is the last entry of a page around another.
func (db *DB) pageEnd(ctx context.Context, session int64, around string, p Page) (int64, error) {
	if around == "" {
		return math.MaxInt64, nil
	}
	_, seq, err := entryOwner(ctx, db.sql, around)
	if err != nil {
		return 0, err
	}
	where, args, err := db.within(ctx, session)
	if err != nil {
		return 0, err
	}
	var end sql.NullInt64
	err = db.sql.QueryRowContext(ctx, `SELECT max(seq) FROM (SELECT seq FROM entry e WHERE seq >= ? AND `+where+` ORDER BY seq LIMIT ?)`,
		append(append([]any{seq}, args...), p.Limit/2+1)...).Scan(&end)
	if err == nil && !end.Valid {
		err = noEntry(around)
	}
	return end.Int64, err
}

// entryCount counts the entries of a segment, but not beyond most.
func (db *DB) entryCount(ctx context.Context, p segment, most int) (n int, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT count(*) FROM (SELECT 1 FROM entry WHERE session = ? AND seq BETWEEN ? AND ? LIMIT ?)`,
		p.source, p.first, p.last, most).Scan(&n)
	return n, err
}

func (db *DB) pastEntries(ctx context.Context, where string, args ...any) ([]PastEntry, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT s.name, e.line FROM entry e JOIN session s ON s.id = e.session `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []PastEntry
	for rows.Next() {
		var p PastEntry
		var line sql.RawBytes
		if err := rows.Scan(&p.Session, &line); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(line, &p.Entry); err != nil {
			return nil, fmt.Errorf("entry of %s: %w", p.Session, err)
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// Records returns the records of the platform log, those in which all words of
// query are found if there are any in it.
func (db *DB) Records(ctx context.Context, query string, p Page) ([]wire.Record, error) {
	if strings.TrimSpace(query) == "" {
		return db.records(ctx, `ORDER BY seq DESC LIMIT ? OFFSET ?`, p.Limit, p.Skip)
	}
	match := expression(query)
	if match == "" {
		return nil, nil
	}
	return db.records(ctx, `JOIN record_words w ON w.rowid = seq WHERE record_words MATCH ? ORDER BY w.rowid DESC LIMIT ? OFFSET ?`,
		match, p.Limit, p.Skip)
}

func (db *DB) records(ctx context.Context, where string, args ...any) ([]wire.Record, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT line FROM record `+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []wire.Record
	for rows.Next() {
		var line sql.RawBytes
		var r wire.Record
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Err()
}

// LabelEntry gives an entry of a session's transcript a label; an empty one takes
// it away. One that is not in the transcript is [ErrNoEntry].
func (db *DB) LabelEntry(ctx context.Context, session int64, entry, label string, now time.Time) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error {
		s, err := sessionByID(ctx, tx, session)
		if err != nil {
			return err
		}
		if _, err := forkPoint(ctx, tx, s, entry); err != nil {
			return err
		}
		return appendEntries(ctx, tx, session, now, []wire.Entry{{Type: wire.EntryLabel, TargetID: entry, Label: label}})
	})
}
