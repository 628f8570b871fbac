package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mikan/wire"
)

// Page is a part of a list that is given newest first.
type Page struct{ Limit, Skip int }

// Past is a session as a list of them shows it.
type Past struct {
	Session
	Header wire.Header
}

// PastEntry is an entry with the name of the session that it was written in. It
// has no image data.
type PastEntry struct {
	Session string
	wire.Entry
}

// dropImages leaves the places of images, not what they show: a page of a hundred
// would be gigabytes.
func (p PastEntry) dropImages() {
	if p.Message == nil {
		return
	}
	for i := range p.Message.Content {
		p.Message.Content[i].Data = ""
	}
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
