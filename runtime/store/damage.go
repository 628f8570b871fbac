package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Unusable is the error of a store that cannot be worked with until a person has
// seen to it. Nothing else is put in its place meanwhile.
type Unusable struct {
	Path  string
	Aside string // where the damaged database has been moved to; empty: it is still at Path
	Err   error  // what is wrong; nil if that was found out earlier
}

// Error says what is wrong, where the database is, and what can be done.
func (u *Unusable) Error() string {
	switch {
	case u.Aside == "":
		return fmt.Sprintf("the history %s cannot be used: %v", u.Path, u.Err)
	case u.Err == nil:
		return fmt.Sprintf("the history was damaged and is set aside as %s; %s", u.Aside, wayOut(u.Path))
	}
	return fmt.Sprintf("the history was damaged (%v) and is set aside as %s; %s", u.Err, u.Aside, wayOut(u.Path))
}

// Unwrap returns what is wrong.
func (u *Unusable) Unwrap() error { return u.Err }

func wayOut(path string) string {
	return fmt.Sprintf("put a good copy at %s, or, to begin with an empty history, move what is set aside to another directory and make the office again with mkdir", path)
}

// sideCars are what SQLite may have beside a database.
var sideCars = []string{"-wal", "-shm"}

// openSound opens the store at path if it is sound. A damaged one is moved aside,
// as it is, and what it returns is an [*Unusable] then, as for one of a newer
// program, which stays where it is.
func openSound(ctx context.Context, path string) (*DB, error) {
	err := inspect(ctx, path)
	if damaged(err) {
		err = inspect(ctx, path) // it may just have come into being
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, missing(path, err)
	}
	if err == nil {
		var db *DB
		if db, err = Open(ctx, path); err == nil {
			return db, made(path)
		}
	}
	switch {
	case damaged(err):
		return nil, setAside(path, err, time.Now())
	case errors.Is(err, ErrNewer):
		return nil, &Unusable{Path: path, Err: err}
	}
	return nil, err
}

// inspect looks for damage that shows without reading everything. It changes
// nothing. Of a store in the making it says nothing.
func inspect(ctx context.Context, path string) error {
	if _, err := os.Lstat(path + making); err == nil {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("open %s: %w", path, errIrregular)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%w: it is empty", errDamaged)
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	defer db.Close()
	var app, tables int
	var size int64
	row := db.QueryRowContext(ctx, `SELECT a.application_id, (SELECT count(*) FROM sqlite_schema), c.page_count * s.page_size
		FROM pragma_application_id a, pragma_page_count c, pragma_page_size s`)
	switch err := row.Scan(&app, &tables, &size); {
	case err != nil:
		return err
	case app != ApplicationID:
		return ErrForeign
	case tables == 0:
		return fmt.Errorf("%w: it has no tables", errDamaged)
	}
	// What the file lacks may be in the write-ahead log.
	if wal, err := os.Lstat(path + "-wal"); info.Size() < size && (err != nil || wal.Size() == 0) {
		return fmt.Errorf("%w: it has %d bytes of %d", errDamaged, info.Size(), size)
	}
	return nil
}

var errIrregular = errors.New("it is not a regular file; put the history itself there")

var errDamaged = errors.New("the database is damaged")

// damaged reports whether err says that a database is not what was written.
func damaged(err error) bool {
	var s *sqlite.Error
	if errors.As(err, &s) {
		code := s.Code() & 0xff
		return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
	}
	return errors.Is(err, errDamaged) || errors.Is(err, ErrForeign)
}

// setAside renames the database, and then what belongs to it. It returns an
// [*Unusable], or why that cannot be done.
func setAside(path string, why error, now time.Time) error {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
	if err := os.Rename(path, aside); err != nil {
		return fmt.Errorf("%s is damaged (%w) and cannot be set aside: %w", path, why, err)
	}
	if err := moveSideCars(path, aside); err != nil {
		return fmt.Errorf("%s is damaged (%w) and is set aside as %s, but not all of it: %w", path, why, aside, err)
	}
	return &Unusable{Path: path, Aside: aside, Err: why}
}

func moveSideCars(path, aside string) error {
	for _, side := range sideCars {
		if err := os.Rename(path+side, aside+side); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Lost reports whether no store is at path, and none that was there is set aside.
func Lost(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, os.ErrNotExist) && len(putAside(path)) == 0
}

// putAside are the databases that were at path and are set aside.
func putAside(path string) []string {
	list, _ := filepath.Glob(globQuote(path) + ".damaged-*Z") // the pattern is well formed
	return list
}

// missing is the error of a database that is not there, err if none has been set
// aside. It completes a move that a crash has cut short, so that a copy that is
// put in the place of the database does not get the old one's log.
func missing(path string, err error) error {
	list := putAside(path)
	if len(list) == 0 {
		return err
	}
	aside := slices.Max(list)
	if err := moveSideCars(path, aside); err != nil {
		return err
	}
	return &Unusable{Path: path, Aside: aside}
}

// globQuote makes a path stand for itself in a pattern.
func globQuote(path string) string {
	var b []byte
	for i := range len(path) {
		if c := path[i]; c == '*' || c == '?' || c == '[' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, path[i])
	}
	return string(b)
}
