package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mikan/wire"
)

// maxHistory is how many records are searched for messages.
const maxHistory = 10_000

// History returns the latest messages of the log, at most limit, oldest first:
// those after the message oldest, of a thread, and the one that a key made, as
// far as these are given.
func (db *DB) History(ctx context.Context, limit int, oldest, thread, key string) ([]wire.OpMessage, error) {
	ofKey := ""
	if key != "" {
		err := db.sql.QueryRowContext(ctx, `SELECT ts FROM outbox WHERE key = ?`, key).Scan(&ofKey)
		if errors.Is(err, sql.ErrNoRows) {
			return []wire.OpMessage{}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	rows, err := db.sql.QueryContext(ctx, `SELECT line FROM record ORDER BY seq DESC LIMIT ?`, maxHistory)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []wire.OpMessage{}
	for len(list) < limit && rows.Next() {
		var line sql.RawBytes
		var r wire.Record
		if err := rows.Scan(&line); err != nil {
			return nil, err
		}
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		if oldest != "" && r.TS == oldest {
			break
		}
		if thread != "" && r.ThreadTS != thread || key != "" && r.TS != ofKey {
			continue
		}
		list = append(list, wire.OpMessage{TS: r.TS, Thread: r.ThreadTS, User: r.User, Name: r.UserName, Text: r.Text, Bot: r.IsBot, Key: key})
	}
	slices.Reverse(list)
	return list, rows.Err()
}

// Users returns those who have written.
func (db *DB) Users(ctx context.Context) ([]wire.OpUser, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT actor, max(name) FROM prompt GROUP BY actor ORDER BY actor`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := []wire.OpUser{}
	for rows.Next() {
		var u wire.OpUser
		if err := rows.Scan(&u.ID, &u.Name); err != nil {
			return nil, err
		}
		if u.Name == "" {
			_, u.Name, _ = strings.Cut(u.ID, ":")
		}
		list = append(list, u)
	}
	return list, rows.Err()
}
