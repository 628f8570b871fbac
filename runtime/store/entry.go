package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"mikan/wire"
)

// segment is a run of entries of one session that stands in the transcript of
// another, or its own.
type segment struct {
	source, first, last int64
	at, shift           int64
}

// segments returns the branch in use of s as runs of entries: inherited ones
// first, then its own.
func segments(ctx context.Context, q querier, s Session) ([]segment, error) {
	own := segment{s.ID, s.root, math.MaxInt64, s.base, 0}
	if s.root != 0 {
		return []segment{own}, nil
	}
	list, err := inherited(ctx, q, s.ID)
	return append(list, own), err
}

func inherited(ctx context.Context, q querier, session int64) ([]segment, error) {
	rows, err := q.QueryContext(ctx, `SELECT source, first, last, at, shift FROM segment WHERE session = ? ORDER BY ord`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []segment
	for rows.Next() {
		var p segment
		if err := rows.Scan(&p.source, &p.first, &p.last, &p.at, &p.shift); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// span returns the offsets in its source's transcript between which p lies.
func span(ctx context.Context, q querier, p segment) (from, to int64, err error) {
	var first, last sql.NullInt64
	err = q.QueryRowContext(ctx, `SELECT
		(SELECT end - length(line) FROM entry WHERE session = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1),
		(SELECT end FROM entry WHERE session = ?1 AND seq <= ?3 ORDER BY seq DESC LIMIT 1)`, p.source, p.first, p.last).Scan(&first, &last)
	if !first.Valid || !last.Valid || last.Int64 < first.Int64 {
		return 0, 0, err
	}
	return first.Int64, last.Int64, err
}

func (db *DB) readMessages(ctx context.Context, p segment, msgs []wire.Message) ([]wire.Message, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT seq, line FROM entry WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq`, p.source, p.first, p.last)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var line sql.RawBytes
		if err := rows.Scan(&seq, &line); err != nil {
			return nil, err
		}
		var e wire.Entry
		if json.Unmarshal(line, &e) != nil {
			msgs = append(msgs, unreadable(seq))
			continue
		}
		if e.Type == wire.EntryMessage && e.Message != nil {
			msgs = append(msgs, *e.Message)
		}
	}
	return msgs, rows.Err()
}

// unreadable stands for a message whose line an older program, or a bad disk, has
// spoilt. The session goes on without it, and the model is told; the transcript
// has the line as it is.
func unreadable(seq int64) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{
		wire.TextPart(fmt.Sprintf("(The entry %s of this session cannot be read. What it said is lost.)", entryID(seq))),
	}}
}

// appendEntries adds entries after the session's leaf. Type and the fields of
// the type are given; the rest is filled in here.
func appendEntries(ctx context.Context, tx *sql.Tx, session int64, now time.Time, entries []wire.Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var leaf, size, seq int64
	row := tx.QueryRowContext(ctx, `SELECT leaf, size, (SELECT coalesce(max(seq), 0) FROM entry) FROM session WHERE id = ?`, session)
	if err := row.Scan(&leaf, &size, &seq); err != nil {
		return err
	}
	for _, e := range entries {
		seq++
		e.ID, e.ParentID, e.Timestamp = entryID(seq), nil, wire.Stamp(now)
		if leaf != 0 {
			parent := entryID(leaf)
			e.ParentID = &parent
		}
		line, err := jsonLine(e)
		if err != nil {
			return err
		}
		size += int64(len(line))
		if _, err := tx.ExecContext(ctx, `INSERT INTO entry(seq, session, end, line) VALUES (?, ?, ?, ?)`, seq, session, size, line); err != nil {
			return err
		}
		if e.Type == wire.EntryCompact {
			if err := noteCompaction(ctx, tx, session, seq, e); err != nil {
				return err
			}
		}
		leaf = seq
	}
	_, err := tx.ExecContext(ctx, `UPDATE session SET leaf = ?, size = ?, changed = ? WHERE id = ?`, leaf, size, now.UnixMilli(), session)
	return err
}

// entryID is the id of an entry in a transcript.
func entryID(seq int64) string { return fmt.Sprintf("%08x", seq) }

// messageEntries wraps messages as entries.
func messageEntries(msgs []wire.Message) []wire.Entry {
	entries := make([]wire.Entry, len(msgs))
	for i := range msgs {
		entries[i] = wire.Entry{Type: wire.EntryMessage, Message: &msgs[i]}
	}
	return entries
}

// linesQuery gives the lines of a session (?2), its own, up to an offset (?3),
// with offsets that are shifted (?1), from the shifted offset ?4 on.
const linesQuery = `SELECT end + ?1, line FROM entry WHERE session = ?2 AND end <= ?3 AND end > ?4 - ?1 ORDER BY end`

// ReadTranscript reads a session's transcript at an offset; 0 is its end.
func (db *DB) ReadTranscript(ctx context.Context, session int64, p []byte, off int64) (int, error) {
	s, err := sessionByID(ctx, db.sql, session)
	if err != nil {
		return 0, err
	}
	n, err := db.readHeader(ctx, s, p, off)
	if err != nil || n == len(p) {
		return n, err
	}
	parts, err := inherited(ctx, db.sql, session)
	if err != nil {
		return n, err
	}
	parts = append(parts, segment{source: s.ID, at: s.base})
	for i, part := range parts {
		to := int64(math.MaxInt64)
		if i+1 < len(parts) {
			to = parts[i+1].at
		}
		if off+int64(n) >= to {
			continue
		}
		m, err := db.readLines(ctx, p[n:], off+int64(n), linesQuery, part.shift, part.source, to-part.shift)
		n += m
		if err != nil || n == len(p) {
			return n, err
		}
	}
	return n, nil
}

func (db *DB) readHeader(ctx context.Context, s Session, p []byte, off int64) (int, error) {
	var header []byte
	if err := db.sql.QueryRowContext(ctx, `SELECT header FROM session WHERE id = ?`, s.ID).Scan(&header); err != nil {
		return 0, err
	}
	if off >= int64(len(header)) {
		return 0, nil
	}
	return copy(p, header[off:]), nil
}
