package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mikan/wire"
)

// The window in which a session hears what was said in the chat.
const (
	HeardLines = 200
	HeardAge   = 14 * 24 * time.Hour
)

// Line is something that was said in the chat.
type Line struct {
	Time   time.Time
	User   string // the platform's id
	Name   string
	Ours   bool // we have said it
	Text   string
	Change wire.MessageChange
	First  time.Time // when what has been deleted was said

	seq int64
}

// Unheard is what was said in the chat and has not reached a session.
type Unheard struct {
	Lines []Line // oldest first
	More  bool   // there are older ones, beyond the window's number
	Upto  int64  // for [Told.Heard]
}

// Unheard returns what s is to hear before its next run: what was said where it
// is, until then, and came to it in no other way. A session that has nothing of
// its past hears its own part of it again. The main session is where there is no
// thread; another is in the thread of its suffix, below the message of that id.
//
// Of a message that was changed only the newest text is heard, and of one that is
// deleted nothing, except that it is, if the session may know it.
func (db *DB) Unheard(ctx context.Context, s Session, now time.Time) (u Unheard, err error) {
	q := hearing{s: s, after: s.heard, since: now.Add(-HeardAge).UnixMilli()}
	if s.leaf == 0 {
		q.after = 0
	}
	// A prompt that waits is heard when it runs, and so is what was said after it. What
	// is too old is passed over; a clock that was wrong takes nothing else along.
	err = db.sql.QueryRowContext(ctx, heardBounds, s.ID, q.after, q.since).Scan(&q.before, &q.from)
	if err != nil {
		return u, err
	}
	u.Upto = q.before - 1
	suffix, _ := wire.SessionSuffix(s.Name)
	if u.Lines, err = q.lines(ctx, db, `r.thread = ?1`, suffix); err != nil {
		return u, err
	}
	var root []Line
	if suffix != "" { // what a thread is about is heard however old it is
		q.from, q.since = q.after, 0
		if root, err = q.lines(ctx, db, `r.ts = ?1 AND r.ts != '' AND r.thread != ?1`, suffix); err != nil {
			return u, err
		}
		root = root[:min(1, len(root))]
	}
	if u.More = len(u.Lines)+len(root) > HeardLines; u.More {
		u.Lines = u.Lines[:HeardLines-len(root)]
	}
	u.Lines = append(u.Lines, root...)
	slices.SortFunc(u.Lines, func(a, b Line) int { return cmp.Compare(a.seq, b.seq) })
	return u, nil
}

// hearing is what a session has yet to hear.
type hearing struct {
	s             Session
	after         int64 // the last record that it has heard
	from          int64 // the same, or the last one that is too old
	before, since int64
}

// heardBounds selects the record before which a session (?1) hears what was said
// after what it has heard (?2) and in its window (?3), and the last one that it does
// not hear.
const heardBounds = `SELECT
	coalesce((SELECT min(record) FROM prompt WHERE session = ?1 AND state = 'queued' AND record > 0), (SELECT max(seq) + 1 FROM record), 1),
	max(?2, min(
		coalesce((SELECT seq FROM record WHERE time < ?3 ORDER BY time DESC, seq DESC LIMIT 1), 0),
		coalesce((SELECT seq - 1 FROM record WHERE time >= ?3 ORDER BY time, seq LIMIT 1), (SELECT max(seq) FROM record), 0)))`

// heardQuery selects what a session is to hear: of what is said in a place (?1)
// after what it has heard (?2) and in its window (?3 to ?4, ?5), the versions that
// count, unless they are of what it was refused, are its own (?6) or came to it
// with what it inherits, or tell that something is gone of which it cannot know.
const heardQuery = `
	SELECT r.seq, r.time, r.voice = 2, r.line,
		CASE r.change WHEN 'deleted' THEN (SELECT min(e.time) FROM record e WHERE e.ts = r.ts AND e.ts != '' AND e.voice != 0 AND (
			e.seq <= ?2 OR EXISTS (SELECT 1 FROM prompt p WHERE p.id = e.prompt AND p.session = ?6 AND p.began != 0))) END AS first
	FROM record r
	WHERE %s AND r.voice != 0 AND r.seq > ?3 AND r.seq < ?4 AND r.time >= ?5
	AND NOT EXISTS (SELECT 1 FROM record d WHERE d.ts = r.ts AND d.ts != '' AND d.change != ''
		AND d.seq > CASE r.change WHEN '' THEN 0 ELSE r.seq END) -- a change may come before what it changes
	AND NOT (r.change != '' AND EXISTS (SELECT 1 FROM record o WHERE o.ts = r.ts AND o.ts != '' AND o.prompt != 0 AND o.voice = 0))
	AND NOT EXISTS (SELECT 1 FROM prompt p WHERE p.id = r.prompt AND (
		p.session = ?6 AND p.began != 0 AND ?7
		OR p.began != 0 AND EXISTS (SELECT 1 FROM segment g WHERE g.session = ?6 AND g.source = p.session AND p.began BETWEEN g.first AND g.last)))
	AND (r.change != 'deleted' OR first IS NOT NULL)
	ORDER BY r.seq DESC LIMIT ?8`

// lines returns what is to be heard of the records that where selects, newest
// first, at most one more than are heard.
func (q hearing) lines(ctx context.Context, db *DB, where, arg string) ([]Line, error) {
	rows, err := db.sql.QueryContext(ctx, fmt.Sprintf(heardQuery, where), arg, q.after, q.from, q.before, q.since, q.s.ID, q.s.leaf != 0, HeardLines+1)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Line
	for rows.Next() {
		var l Line
		var at int64
		var first *int64
		var line []byte
		var r wire.Record
		if err := rows.Scan(&l.seq, &at, &l.Ours, &line, &first); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, err
		}
		l.Time, l.User, l.Name, l.Text, l.Change = time.UnixMilli(at), r.User, r.UserName, r.Text, r.Change
		if first != nil {
			l.First = time.UnixMilli(*first)
		}
		list = append(list, l)
	}
	return list, rows.Err()
}
