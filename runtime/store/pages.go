package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"

	"mikan/wire"
)

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
		more, err := db.pastEntries(ctx, entryFrom+`ORDER BY e.seq DESC LIMIT ? OFFSET ?`,
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

func (db *DB) pastEntries(ctx context.Context, from string, args ...any) ([]PastEntry, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT s.name, e.seq, e.line FROM `+from, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []PastEntry
	for rows.Next() {
		var p PastEntry
		var seq int64
		var line sql.RawBytes
		if err := rows.Scan(&p.Session, &seq, &line); err != nil {
			return nil, err
		}
		if json.Unmarshal(line, &p.Entry) != nil {
			m := unreadable(seq)
			p.Entry = wire.Entry{Type: wire.EntryMessage, ID: entryID(seq), Message: &m}
		}
		p.dropImages()
		list = append(list, p)
	}
	return list, rows.Err()
}
