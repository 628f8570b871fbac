package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
)

// Index says which offices have work waiting or are archived. A start reads
// nothing else of an office. It can say too much, never too little, and is
// rebuilt if it is missing or damaged.
type Index struct {
	sql *sql.DB
}

var indexMigrations = []string{`
CREATE TABLE office (
	key      TEXT PRIMARY KEY,
	pending  INTEGER NOT NULL DEFAULT 0,  -- prompts may wait or run
	archived INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX office_pending ON office(key) WHERE pending;
CREATE INDEX office_archived ON office(key) WHERE archived;
CREATE TABLE complete (yes INTEGER) STRICT;  -- has a row once every office has been looked at
`}

// OpenIndex opens the index at path. fresh reports that it had to be made anew,
// because it was missing or damaged, and waits for [Index.Fill].
func OpenIndex(ctx context.Context, path string) (ix *Index, fresh bool, err error) {
	db, err := create(ctx, path, indexMigrations)
	if err == nil {
		err = check(ctx, db)
	}
	if err != nil && !errors.Is(err, ErrForeign) && ctx.Err() == nil {
		if db != nil {
			db.Close()
		}
		db, err = replace(ctx, path)
	}
	if err != nil {
		return nil, false, err
	}
	var complete int
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM complete`).Scan(&complete)
	return &Index{db}, complete == 0, err
}

// replace makes a new index in the place of a damaged one.
func replace(ctx context.Context, path string) (*sql.DB, error) {
	for _, side := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(path + side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("replace the damaged index: %w", err)
		}
	}
	return create(ctx, path, indexMigrations)
}

// Fill puts every office into an index that was made anew.
func (ix *Index) Fill(ctx context.Context, pending, archived []string) error {
	return inTx(ctx, ix.sql, func(tx *sql.Tx) error {
		for _, key := range pending {
			if _, err := tx.ExecContext(ctx, setPending, key, true); err != nil {
				return err
			}
		}
		for _, key := range archived {
			if _, err := tx.ExecContext(ctx, setArchived, key, true); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO complete VALUES (1)`)
		return err
	})
}

const (
	setPending  = `INSERT INTO office(key, pending) VALUES (?, ?) ON CONFLICT DO UPDATE SET pending = excluded.pending`
	setArchived = `INSERT INTO office(key, archived) VALUES (?, ?) ON CONFLICT DO UPDATE SET archived = excluded.archived`
)

func check(ctx context.Context, db *sql.DB) error {
	var answer string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return errors.New(answer)
	}
	return nil
}

// Close ends the use of the index.
func (ix *Index) Close() error { return ix.sql.Close() }

// SetPending says whether prompts may wait or run in an office.
func (ix *Index) SetPending(ctx context.Context, key string, pending bool) error {
	_, err := ix.sql.ExecContext(ctx, setPending, key, pending)
	return err
}

// SetArchived says whether an office is archived.
func (ix *Index) SetArchived(ctx context.Context, key string, archived bool) error {
	_, err := ix.sql.ExecContext(ctx, setArchived, key, archived)
	return err
}

// Pending returns the keys of the offices that may have work.
func (ix *Index) Pending(ctx context.Context) ([]string, error) {
	return ix.keys(ctx, `SELECT key FROM office WHERE pending ORDER BY key`)
}

// Archived returns the keys of the archived offices.
func (ix *Index) Archived(ctx context.Context) ([]string, error) {
	return ix.keys(ctx, `SELECT key FROM office WHERE archived ORDER BY key`)
}

func (ix *Index) keys(ctx context.Context, query string) ([]string, error) {
	rows, err := ix.sql.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var keys []string
	for rows.Next() {
		var k string
		if err := rows.Scan(&k); err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, rows.Err()
}
