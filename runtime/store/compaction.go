package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"mikan/wire"
)

// Compaction is a summary that takes the place of the beginning of a context.
type Compaction struct {
	wire.Entry              // its summary, tokens and details
	Keep       int          // how many messages at the end of the branch stay as they are
	Memory     string       // [Told.Memory], of what the model is told outside its messages
	Paid       wire.Message // whose model and usage the summary cost
}

// ErrKept is returned by [DB.Compact] if the branch in use has fewer messages
// than are to be kept.
var ErrKept = errors.New("the session has fewer messages than the compaction keeps")

// Compact appends a compaction to the branch in use of a session. It rewrites
// nothing: only what [DB.Messages] gives from now on is shorter. It returns the
// message that stands for the summary.
func (db *DB) Compact(ctx context.Context, session int64, c Compaction, now time.Time) (wire.Message, error) {
	e := c.Entry
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		s, err := sessionByID(ctx, tx, session)
		if err != nil {
			return err
		}
		kept, err := firstKept(ctx, tx, s, c.Keep)
		if err != nil {
			return err
		}
		if c.Paid.Usage != nil {
			if err := addUsage(ctx, tx, session, c.Paid); err != nil {
				return err
			}
		}
		e.Type, e.FirstKept, e.Timestamp = wire.EntryCompact, entryID(kept), wire.Stamp(now)
		if err := appendEntries(ctx, tx, session, now, []wire.Entry{e}); err != nil {
			return err
		}
		// An idle session has no message that is not settled: the summary is part of it.
		_, err = tx.ExecContext(ctx, `UPDATE session SET memory = ?1, settled = CASE WHEN EXISTS (
			SELECT 1 FROM entry e WHERE e.session = ?2 AND e.seq > settled AND substr(line, 1, ?3) = ?4) THEN settled ELSE leaf END WHERE id = ?2`,
			c.Memory, session, len(messageLine), messageLine)
		return err
	})
	return wire.SummaryMessage(e), err
}

// firstKept is the first of the last n messages on the branch in use of s.
func firstKept(ctx context.Context, q querier, s Session, n int) (int64, error) {
	parts, err := segments(ctx, q, s)
	if err != nil || n <= 0 {
		return 0, errors.Join(err, ErrKept)
	}
	for i := len(parts) - 1; i >= 0; i-- {
		at, left, err := countBack(ctx, q, parts[i], n)
		if err != nil || left == 0 {
			return at, err
		}
		n = left
	}
	return 0, ErrKept
}

// countBack counts n messages back from the end of p. It returns where it has
// come to and how many are left to count.
func countBack(ctx context.Context, q querier, p segment, n int) (at int64, left int, err error) {
	rows, err := q.QueryContext(ctx, `SELECT seq, substr(line, 1, ?) FROM entry WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC`,
		len(messageLine), p.source, p.first, p.last)
	if err != nil {
		return 0, n, err
	}
	defer rows.Close()
	for n > 0 && rows.Next() {
		var head sql.RawBytes
		if err := rows.Scan(&at, &head); err != nil {
			return 0, n, err
		}
		if bytes.Equal(head, messageLine) {
			n--
		}
	}
	return at, n, rows.Err()
}

// messageLine is how the line of a message begins.
var messageLine = []byte(`{"type":"message",`)

// noteCompaction makes the entry seq, which is a compaction, easy to find.
func noteCompaction(ctx context.Context, tx *sql.Tx, session, seq int64, e wire.Entry) error {
	kept, err := strconv.ParseInt(e.FirstKept, 16, 64)
	if err != nil {
		return fmt.Errorf("compaction: first kept entry %q: %w", e.FirstKept, err)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO compaction(session, seq, kept) VALUES (?, ?, ?)`, session, seq, kept)
	return err
}

// compacted is the newest compaction of a branch.
type compacted struct {
	seq, kept int64 // 0: there is none
}

// latestCompaction finds the newest compaction on the branch that parts make.
// It is one look-up in an index for each part: a fork sees what lies before the
// entry that it was taken from, and nothing later.
func latestCompaction(ctx context.Context, q querier, parts []segment) (c compacted, err error) {
	for i := len(parts) - 1; i >= 0; i-- {
		err = q.QueryRowContext(ctx, `SELECT seq, kept FROM compaction WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT 1`,
			parts[i].source, parts[i].first, parts[i].last).Scan(&c.seq, &c.kept)
		if !errors.Is(err, sql.ErrNoRows) {
			return c, err
		}
	}
	return compacted{}, nil
}

// Messages returns what the model is to see of a session: the messages on its
// branch in use, oldest first, or the summary of the newest compaction, what
// that has kept, and what came later. It reads no more than that. The usage of
// what was kept is left out: it counts a context that is no more.
func (db *DB) Messages(ctx context.Context, session int64) ([]wire.Message, error) {
	s, err := sessionByID(ctx, db.sql, session)
	if err != nil {
		return nil, err
	}
	parts, err := segments(ctx, db.sql, s)
	if err != nil {
		return nil, err
	}
	c, err := latestCompaction(ctx, db.sql, parts)
	if err != nil {
		return nil, err
	}
	var msgs []wire.Message
	if c.seq != 0 {
		e, err := entryAt(ctx, db.sql, c.seq)
		if err != nil {
			return nil, err
		}
		if msgs, err = db.branch(ctx, parts, c.kept, c.seq); err != nil {
			return nil, err
		}
		msgs = wire.Compacted(wire.SummaryMessage(e), msgs)
	}
	later, err := db.branch(ctx, parts, c.seq+1, math.MaxInt64)
	return append(msgs, later...), err
}

// branch returns the messages of parts from the entry first to the entry last.
func (db *DB) branch(ctx context.Context, parts []segment, first, last int64) (msgs []wire.Message, err error) {
	for _, p := range parts {
		p.first, p.last = max(p.first, first), min(p.last, last)
		if p.first > p.last {
			continue
		}
		if msgs, err = db.readMessages(ctx, p, msgs); err != nil {
			return nil, err
		}
	}
	return msgs, nil
}

func entryAt(ctx context.Context, q querier, seq int64) (e wire.Entry, err error) {
	var line []byte
	if err := q.QueryRowContext(ctx, `SELECT line FROM entry WHERE seq = ?`, seq).Scan(&line); err != nil {
		return e, fmt.Errorf("entry %d: %w", seq, err)
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("entry %d: %w", seq, err)
	}
	return e, nil
}
