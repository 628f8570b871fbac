package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"mikan/wire"
)

// point is a place in a session's tree.
type point struct {
	seq   int64     // the entry; 0: before all of them
	path  []segment // to it, from its root; the last may go on behind it
	inUse bool      // it is on the branch in use
}

// forkPoint finds the entry with an id in the transcript of src.
func forkPoint(ctx context.Context, q querier, src Session, id string) (p point, err error) {
	if id == "" {
		if src.Renew || src.settled == 0 {
			return p, nil
		}
		p.path, err = segments(ctx, q, src)
		p.seq, p.inUse = src.settled, true
		return p, err
	}
	owner, seq, err := entryOwner(ctx, q, id)
	if err != nil {
		return p, err
	}
	p.seq = seq
	if owner == src.ID {
		return ownPoint(ctx, q, src, p)
	}
	parts, err := inherited(ctx, q, src.ID)
	for i, part := range parts {
		if part.source == owner && part.first <= seq && seq <= part.last {
			p.path, p.inUse = parts[:i+1], src.root == 0
			return p, nil
		}
	}
	return p, errors.Join(err, noEntry(id))
}

// ownPoint finds the path to an entry of src's own.
func ownPoint(ctx context.Context, q querier, src Session, p point) (point, error) {
	at := src
	err := q.QueryRowContext(ctx, `SELECT coalesce(max(root), 0) FROM branch WHERE session = ? AND root <= ?`, src.ID, p.seq).Scan(&at.root)
	if err != nil {
		return p, err
	}
	p.inUse = at.root == src.root
	p.path, err = segments(ctx, q, at)
	return p, err
}

// entryOwner returns the session that an entry was written in, and its number.
func entryOwner(ctx context.Context, q querier, id string) (session, seq int64, err error) {
	n, err := strconv.ParseUint(id, 16, 32)
	if err != nil || entryID(int64(n)) != id {
		return 0, 0, noEntry(id)
	}
	err = q.QueryRowContext(ctx, `SELECT session FROM entry WHERE seq = ?`, n).Scan(&session)
	if errors.Is(err, sql.ErrNoRows) {
		err = noEntry(id)
	}
	return session, int64(n), err
}

func noEntry(id string) error {
	return fmt.Errorf("%w: %q; the transcript gives the ids, 8 hex digits each", ErrNoEntry, id)
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
