package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"mikan/wire"
)

// Fork makes a session that inherits, by reference, what stands before an entry
// of another and the entry itself: it costs the same however long the history
// is. The entry may be on any branch of that session; one that is not in its
// transcript is [ErrNoEntry]. Without one it is the last settled entry of the
// branch in use, and of a session that is about to start afresh none.
//
// Tool calls that have no result by that entry get one in the fork.
func (db *DB) Fork(ctx context.Context, from, entry, name, cwd string, now time.Time) (Session, error) {
	var s Session
	err := inTx(ctx, db.sql, func(tx *sql.Tx) error {
		src, err := sessionNamed(ctx, tx, from)
		if err != nil {
			return err
		}
		if _, err := sessionNamed(ctx, tx, name); err == nil {
			return ErrSessionExists
		} else if !errors.Is(err, ErrNoSession) {
			return err
		}
		p, err := forkPoint(ctx, tx, src, entry)
		if err != nil {
			return err
		}
		parent, err := headerOf(ctx, tx, src.ID)
		if err != nil {
			return err
		}
		if s, err = insertSession(ctx, tx, name, wire.Header{Cwd: cwd, ParentSession: parent.ID}, now); err != nil {
			return err
		}
		if err := inherit(ctx, tx, p, src, s); err != nil {
			return err
		}
		if err := part(ctx, tx, p, wire.ForkPoint{Session: src.Name, SessionID: parent.ID}, s.ID, now); err != nil {
			return err
		}
		s, err = sessionNamed(ctx, tx, name)
		return err
	})
	return s, err
}

// headerOf is the first line of a session's transcript.
func headerOf(ctx context.Context, q querier, session int64) (h wire.Header, err error) {
	var line []byte
	if err := q.QueryRowContext(ctx, `SELECT header FROM session WHERE id = ?`, session).Scan(&line); err != nil {
		return h, err
	}
	return h, json.Unmarshal(line, &h)
}

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

// inherit gives s the path to p, and what src's model has been told, if it has
// been told that on the same branch.
func inherit(ctx context.Context, tx *sql.Tx, p point, src, s Session) error {
	at := s.Size
	for ord, part := range p.path {
		if part.last = min(part.last, p.seq); part.last < part.first {
			continue
		}
		from, to, err := span(ctx, tx, part)
		if err != nil {
			return err
		}
		if to == from {
			continue
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO segment(session, ord, source, first, last, at, shift) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			s.ID, ord, part.source, part.first, part.last, at, at-from); err != nil {
			return err
		}
		at += to - from
	}
	if !p.inUse {
		src.System, src.Memory = "", ""
	}
	_, err := tx.ExecContext(ctx, `UPDATE session SET base = ?, size = ?, leaf = ?, model = ?, thinking = ?, system = ?, memory = ? WHERE id = ?`,
		at, at, p.seq, src.Model, src.Thinking, src.System, src.Memory, s.ID)
	return err
}

// part writes the first entries that are the fork's own: where it comes from,
// that it has no title yet, and the results of the calls that have none.
func part(ctx context.Context, tx *sql.Tx, p point, from wire.ForkPoint, fork int64, now time.Time) error {
	if p.seq != 0 {
		from.Entry = entryID(p.seq)
	}
	data, err := json.Marshal(from)
	if err != nil {
		return err
	}
	results, err := openCalls(ctx, tx, p, now)
	if err != nil {
		return err
	}
	own := append([]wire.Entry{
		{Type: wire.EntryCustom, CustomType: wire.CustomFork, Data: data},
		{Type: wire.EntryInfo},
	}, messageEntries(results)...)
	if err := appendEntries(ctx, tx, fork, now, own); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE session SET settled = leaf WHERE id = ?`, fork)
	return err
}

// notInherited is the result of a call whose own is not in the fork.
const notInherited = "[no result: this session was forked before the result of the call]"

// openCalls makes up a result for each tool call before p that has none by then.
// It reads back to the last assistant message, and no further.
func openCalls(ctx context.Context, q querier, p point, now time.Time) ([]wire.Message, error) {
	answered := map[string]bool{}
	for i := len(p.path) - 1; i >= 0; i-- {
		found, m, err := lastReply(ctx, q, p.path[i], p.seq, answered)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		var results []wire.Message
		for _, c := range m.Calls() {
			if !answered[c.ID] {
				results = append(results, wire.Message{
					Role: wire.ToolResult, ToolCallID: c.ID, ToolName: c.Name, IsError: true,
					Content: []wire.Part{wire.TextPart(notInherited)}, Timestamp: now.UnixMilli(),
				})
			}
		}
		return results, nil
	}
	return nil, nil
}

// lastReply returns the last assistant message of a segment up to an entry, and
// notes the results behind it.
func lastReply(ctx context.Context, q querier, p segment, upTo int64, answered map[string]bool) (found bool, m wire.Message, err error) {
	rows, err := q.QueryContext(ctx, `SELECT line FROM entry WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC`,
		p.source, p.first, min(p.last, upTo))
	if err != nil {
		return false, m, err
	}
	defer rows.Close()
	for rows.Next() {
		var line sql.RawBytes
		if err := rows.Scan(&line); err != nil {
			return false, m, err
		}
		var e wire.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return false, m, err
		}
		switch {
		case e.Type != wire.EntryMessage || e.Message == nil:
		case e.Message.Role == wire.Assistant:
			return true, *e.Message, nil
		case e.Message.Role == wire.ToolResult:
			answered[e.Message.ToolCallID] = true
		}
	}
	return false, m, rows.Err()
}
