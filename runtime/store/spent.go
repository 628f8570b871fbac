package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"mikan/wire"
)

// Spent is what one run has used, failed attempts of model calls among it.
type Spent struct {
	wire.Usage
	Calls int `json:"calls"` // of the model
}

// spend notes what the run of a prompt has used.
func spend(ctx context.Context, tx *sql.Tx, run int64, s Spent) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE prompt SET spent = ? WHERE id = ?`, string(text), run)
	return err
}

// LastSpent returns what the run of a session that settled last has used, or that
// of the whole office if session is 0; ok is false if there has been none.
func (db *DB) LastSpent(ctx context.Context, session int64) (s Spent, ok bool, err error) {
	var text string
	err = db.sql.QueryRowContext(ctx, `SELECT p.spent FROM prompt p JOIN (SELECT run FROM prompt WHERE settled > 0 AND (session = ?1 OR ?1 = 0)
		ORDER BY settled DESC LIMIT 1) last ON p.id = last.run`, session).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s, false, nil
	case err != nil || text == "":
		return s, false, err
	}
	return s, true, json.Unmarshal([]byte(text), &s)
}
