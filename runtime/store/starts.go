package store

import "context"

// CountStart notes that a start of the daemon has found work in a session that is
// to be gone on with. It returns the prompt that is the first to run and how many
// times the daemon has died while it was; ok is false if none waits.
func (db *DB) CountStart(ctx context.Context, session int64) (p Prompt, deaths int, ok bool, err error) {
	p, ok, err = db.onePrompt(ctx, `WHERE session = ? AND state = 'queued' ORDER BY kind = 'prompt', id LIMIT 1`, session)
	if err != nil || !ok {
		return p, 0, ok, err
	}
	err = db.sql.QueryRowContext(ctx, `UPDATE prompt SET deaths = deaths + 1 WHERE id = ? RETURNING deaths`, p.ID).Scan(&deaths)
	return p, deaths, true, err
}

// EndWell notes that the daemon ends without having died.
func (db *DB) EndWell(ctx context.Context) error {
	_, err := db.sql.ExecContext(ctx, `UPDATE prompt SET deaths = -1 WHERE state = 'queued' AND deaths >= 0`)
	return err
}
