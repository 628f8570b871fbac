package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
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
		if err := part(ctx, tx, p, src, parent.ID, s.ID, now); err != nil {
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
// what holds in it, whatever it has inherited, and the results of the calls that
// have none.
func part(ctx context.Context, tx *sql.Tx, p point, src Session, srcID string, fork int64, now time.Time) error {
	from := wire.ForkPoint{Session: src.Name, SessionID: srcID}
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
	own := []wire.Entry{
		{Type: wire.EntryCustom, CustomType: wire.CustomFork, Data: data},
		{Type: wire.EntryInfo}, // no title yet
	}
	if provider, model, ok := strings.Cut(src.Model, "/"); ok {
		own = append(own, wire.Entry{Type: wire.EntryModel, Provider: provider, ModelID: model})
	}
	if src.Thinking != "" {
		own = append(own, wire.Entry{Type: wire.EntryThinking, ThinkingLevel: src.Thinking})
	}
	if err := appendEntries(ctx, tx, fork, now, append(own, messageEntries(results)...)); err != nil {
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
		switch err := json.Unmarshal(line, &e); {
		case err != nil: // see unreadable
		case e.Type != wire.EntryMessage || e.Message == nil:
		case e.Message.Role == wire.Assistant:
			return true, *e.Message, nil
		case e.Message.Role == wire.ToolResult:
			answered[e.Message.ToolCallID] = true
		}
	}
	return false, m, rows.Err()
}
