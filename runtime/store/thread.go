package store

import (
	"context"
	"database/sql"
	"time"

	"mikan/wire"
)

// Root returns the prompt of another session under whose message, or under whose
// answer, the thread of s hangs; ok is false if it hangs under no such message.
func (db *DB) Root(ctx context.Context, s Session) (p Prompt, ok bool, err error) {
	suffix, _ := wire.SessionSuffix(s.Name)
	if suffix == "" {
		return Prompt{}, false, nil
	}
	return db.onePrompt(ctx, `WHERE session != ? AND id = (SELECT prompt FROM record WHERE ts = ? AND ts != '' AND prompt != 0
		ORDER BY seq DESC LIMIT 1)`, s.ID, suffix)
}

// Descend makes a session that has never run a fork of the run of p, which has
// settled, at the last entry of that run. One that has run, and a run that never
// began, change nothing.
func (db *DB) Descend(ctx context.Context, session int64, p Prompt, now time.Time) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error {
		s, err := sessionByID(ctx, tx, session)
		if err != nil || !s.Unused() || p.ending == 0 {
			return err
		}
		src, err := sessionByID(ctx, tx, p.Session)
		if err != nil {
			return err
		}
		at, err := forkPoint(ctx, tx, src, entryID(p.ending))
		if err != nil {
			return err
		}
		parent, err := headerOf(ctx, tx, src.ID)
		if err != nil {
			return err
		}
		if s, err = setParent(ctx, tx, s, parent.ID); err != nil {
			return err
		}
		src.Memory = p.memory
		if err := inherit(ctx, tx, at, src, s); err != nil {
			return err
		}
		if err := part(ctx, tx, at, src, parent.ID, s.ID, now); err != nil {
			return err
		}
		suffix, _ := wire.SessionSuffix(s.Name)
		_, err = tx.ExecContext(ctx, heardRoot, suffix, p.ID, now.UnixMilli(), s.ID)
		return err
	})
}

const heardRoot = `UPDATE session SET heard = (SELECT max(seq) FROM record WHERE ts = ? AND ts != '' AND prompt = ?), changed = ? WHERE id = ?`

// setParent writes into the header of a session that has no entries what it comes
// from.
func setParent(ctx context.Context, tx *sql.Tx, s Session, parent string) (Session, error) {
	h, err := headerOf(ctx, tx, s.ID)
	if err != nil {
		return s, err
	}
	h.ParentSession = parent
	header, err := jsonLine(h)
	if err != nil {
		return s, err
	}
	s.base, s.Size = int64(len(header)), int64(len(header))
	_, err = tx.ExecContext(ctx, `UPDATE session SET header = ?, base = ?, size = ? WHERE id = ?`, header, s.base, s.Size, s.ID)
	return s, err
}
