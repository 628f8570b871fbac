package store

import "context"

// CountStart notes that a start of the daemon has found work in a session that is
// to be gone on with. It returns the prompt that is the first to run and how many
// such starts in a row that was; ok is false if none waits.
func (db *DB) CountStart(ctx context.Context, session int64) (p Prompt, starts int, ok bool, err error) {
	p, ok, err = db.onePrompt(ctx, `WHERE session = ? AND state = 'queued' ORDER BY kind = 'prompt', id LIMIT 1`, session)
	if err != nil || !ok {
		return p, 0, ok, err
	}
	err = db.sql.QueryRowContext(ctx, `UPDATE prompt SET deaths = deaths + 1 WHERE id = ? RETURNING deaths`, p.ID).Scan(&starts)
	return p, starts, true, err
}

// Suspect reports whether the daemon has died while the prompt that a session is to
// run next was that already at its start.
func (db *DB) Suspect(ctx context.Context, session int64) (yes bool, err error) {
	err = db.sql.QueryRowContext(ctx, `SELECT coalesce((SELECT deaths FROM prompt WHERE session = ? AND state = 'queued'
		ORDER BY kind = 'prompt', id LIMIT 1), 0) > 0`, session).Scan(&yes)
	return yes, err
}

// EndWell notes that the daemon ends without having died.
func (db *DB) EndWell(ctx context.Context) error {
	_, err := db.sql.ExecContext(ctx, `UPDATE prompt SET deaths = -1 WHERE state = 'queued' AND deaths >= 0`)
	return err
}
