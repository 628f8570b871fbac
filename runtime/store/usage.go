package store

import (
	"context"
	"database/sql"

	"mikan/wire"
)

// Usage is what a model was used for in a session, or in all of them.
type Usage struct {
	Model string
	wire.Usage
	Calls int
}

func addUsage(ctx context.Context, tx *sql.Tx, session int64, m wire.Message) error {
	u := m.Usage
	_, err := tx.ExecContext(ctx, `INSERT INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, 1)
		ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output,
		cacheRead = cacheRead + excluded.cacheRead, cacheWrite = cacheWrite + excluded.cacheWrite,
		cost = cost + excluded.cost, calls = calls + 1`,
		session, m.Provider+"/"+m.Model, u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost.Total)
	return err
}

// AddUsage counts what a message cost that is in no history of the session.
func (db *DB) AddUsage(ctx context.Context, session int64, m wire.Message) error {
	return inTx(ctx, db.sql, func(tx *sql.Tx) error { return addUsage(ctx, tx, session, m) })
}

// Usage returns the usage of a session by model, or of the whole office if
// session is 0.
func (db *DB) Usage(ctx context.Context, session int64) ([]Usage, error) {
	rows, err := db.sql.QueryContext(ctx, `SELECT model, sum(input), sum(output), sum(cacheRead), sum(cacheWrite), sum(cost), sum(calls)
		FROM usage WHERE session = ?1 OR ?1 = 0 GROUP BY model ORDER BY model`, session)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []Usage
	for rows.Next() {
		var u Usage
		if err := rows.Scan(&u.Model, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Cost.Total, &u.Calls); err != nil {
			return nil, err
		}
		list = append(list, u)
	}
	return list, rows.Err()
}
