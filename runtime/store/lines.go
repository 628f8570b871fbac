package store

import (
	"context"
	"database/sql"
	"time"
)

// readLines fills p from the lines that query gives. The query takes an offset
// and returns (end, line) of the lines that end after it, in order.
func (db *DB) readLines(ctx context.Context, p []byte, off int64, query string, args ...any) (n int, err error) {
	rows, err := db.sql.QueryContext(ctx, query, append(args, off)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for n < len(p) && rows.Next() {
		var end int64
		var line sql.RawBytes
		if err := rows.Scan(&end, &line); err != nil {
			return n, err
		}
		skip := off + int64(n) - (end - int64(len(line)))
		if skip < 0 || skip > int64(len(line)) {
			break // a gap: the next segment goes on from here
		}
		n += copy(p[n:], line[skip:])
	}
	return n, rows.Err()
}

// LogSize returns the size of the platform log in bytes and the time of its
// last record.
func (db *DB) LogSize(ctx context.Context) (int64, time.Time, error) {
	var size, ms int64
	err := db.sql.QueryRowContext(ctx, `SELECT end, time FROM record ORDER BY seq DESC LIMIT 1`).Scan(&size, &ms)
	if err == sql.ErrNoRows {
		return 0, time.Time{}, nil
	}
	return size, time.UnixMilli(ms), err
}

// ReadLog reads the platform log at an offset; 0 is its end.
func (db *DB) ReadLog(ctx context.Context, p []byte, off int64) (int, error) {
	return db.readLines(ctx, p, off, `SELECT end, line FROM record WHERE end > ? ORDER BY end`)
}
