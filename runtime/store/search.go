package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"mikan/wire"
)

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
	return db.pastEntries(ctx, searchFrom+where+` ORDER BY w.rowid DESC LIMIT ? OFFSET ?`, append(append([]any{match}, args...), p.Limit, p.Skip)...)
}

// The join is crossed so that the index is asked first, and once.
const (
	searchFrom = `entry_words w CROSS JOIN entry e ON e.seq = w.rowid CROSS JOIN session s ON s.id = e.session WHERE entry_words MATCH ? AND `
	entryFrom  = `entry e CROSS JOIN session s ON s.id = e.session WHERE e.session = ? AND e.seq BETWEEN ? AND ? `
)

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
		if json.Unmarshal(line, &r) != nil {
			r = wire.Record{Text: "(This record of the log cannot be read.)"}
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
