package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"
	"time"

	"modernc.org/sqlite" // also the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// ApplicationID marks a database as mikan's (PRAGMA application_id): "mika".
const ApplicationID = 0x6d696b61

// The errors of a database that is not mikan's, or not this mikan's.
var (
	ErrForeign = errors.New("the database belongs to another program")
	ErrNewer   = errors.New("the database is newer than this program")
)

// DB is the store of one office.
type DB struct {
	sql *sql.DB
}

// migrations are run in order; user_version counts those that have run.
var migrations = []string{`
CREATE TABLE session (
	id       INTEGER PRIMARY KEY,
	name     TEXT NOT NULL UNIQUE,      -- as in the path: main, a suffix, a fork
	title    TEXT NOT NULL DEFAULT '',
	archived INTEGER NOT NULL DEFAULT 0,
	header   BLOB NOT NULL,             -- the transcript's first line
	base     INTEGER NOT NULL,          -- bytes before its own entries: header and inherited
	size     INTEGER NOT NULL,          -- bytes of the whole transcript
	root     INTEGER NOT NULL DEFAULT 0,-- first entry of the branch in use; 0: the inherited one
	leaf     INTEGER NOT NULL DEFAULT 0,-- last entry; 0: none
	settled  INTEGER NOT NULL DEFAULT 0,-- last entry at the last settlement
	renew    INTEGER NOT NULL DEFAULT 0,-- begin a new branch before the next run
	model    TEXT NOT NULL DEFAULT '',  -- provider/model, if not the office's
	thinking TEXT NOT NULL DEFAULT '',
	system   TEXT NOT NULL DEFAULT '',  -- the system prompt in use since the last reset
	memory   TEXT NOT NULL DEFAULT '',  -- a digest of the memory that the model knows
	changed  INTEGER NOT NULL           -- Unix milliseconds
) STRICT;
CREATE TABLE segment (                  -- what a fork inherits, in order
	session INTEGER NOT NULL REFERENCES session(id),
	ord     INTEGER NOT NULL,
	source  INTEGER NOT NULL REFERENCES session(id),
	first   INTEGER NOT NULL,           -- entries of source, inclusive
	last    INTEGER NOT NULL,
	at      INTEGER NOT NULL,           -- where it begins in this transcript
	shift   INTEGER NOT NULL,           -- its offsets here minus those in source
	PRIMARY KEY (session, ord)
) STRICT, WITHOUT ROWID;
CREATE TABLE entry (
	seq     INTEGER PRIMARY KEY,
	session INTEGER NOT NULL REFERENCES session(id),
	end     INTEGER NOT NULL,           -- offset after this line in its session's transcript
	line    BLOB NOT NULL
) STRICT;
CREATE INDEX entry_end ON entry(session, end);
CREATE INDEX entry_seq ON entry(session);  -- and, implicitly, seq
CREATE TABLE prompt (
	id       INTEGER PRIMARY KEY AUTOINCREMENT,
	session  INTEGER NOT NULL REFERENCES session(id),
	kind     TEXT NOT NULL,             -- prompt, steer, followup
	actor    TEXT NOT NULL,
	text     TEXT NOT NULL,
	state    TEXT NOT NULL,             -- queued, running, settled
	run      INTEGER NOT NULL DEFAULT 0,-- the prompt in whose run it is answered
	outcome  TEXT NOT NULL DEFAULT '',
	error    TEXT NOT NULL DEFAULT '',
	answer   TEXT NOT NULL DEFAULT '',  -- all text of the run
	final    TEXT NOT NULL DEFAULT '',  -- the text of its last message
	began    INTEGER NOT NULL DEFAULT 0,-- the first entry of its run
	settled  INTEGER NOT NULL DEFAULT 0,-- counts settlements
	accepted INTEGER NOT NULL,          -- Unix milliseconds
	ended    INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX prompt_open ON prompt(session, state) WHERE state != 'settled';
CREATE INDEX prompt_session ON prompt(session, id);
CREATE INDEX prompt_settled ON prompt(session, settled);
CREATE INDEX prompt_outcome ON prompt(session, outcome, settled);
CREATE INDEX prompt_count ON prompt(settled);
CREATE TABLE record (
	seq  INTEGER PRIMARY KEY,
	end  INTEGER NOT NULL,
	time INTEGER NOT NULL,
	line BLOB NOT NULL
) STRICT;
CREATE INDEX record_end ON record(end);
CREATE TABLE usage (
	session    INTEGER NOT NULL REFERENCES session(id),
	model      TEXT NOT NULL,
	input      INTEGER NOT NULL,
	output     INTEGER NOT NULL,
	cacheRead  INTEGER NOT NULL,
	cacheWrite INTEGER NOT NULL,
	cost       REAL NOT NULL,
	calls      INTEGER NOT NULL,
	PRIMARY KEY (session, model)
) STRICT, WITHOUT ROWID;
`, `
ALTER TABLE prompt ADD COLUMN name   TEXT NOT NULL DEFAULT '';  -- what the actor is called
ALTER TABLE prompt ADD COLUMN source TEXT NOT NULL DEFAULT '';  -- the platform's id of the message; none: not from a platform
ALTER TABLE prompt ADD COLUMN thread TEXT NOT NULL DEFAULT '';  -- the thread it was written in
ALTER TABLE prompt ADD COLUMN reply  TEXT NOT NULL DEFAULT '';  -- the thread that its answer goes to
CREATE TABLE delivery (                 -- what an adapter has delivered
	seq    INTEGER PRIMARY KEY AUTOINCREMENT,
	id     TEXT NOT NULL UNIQUE,        -- of the delivery
	ts     TEXT NOT NULL,               -- of the message
	asked  INTEGER NOT NULL,            -- it was given to a session
	change TEXT NOT NULL,
	digest BLOB NOT NULL                -- of the text
) STRICT;
CREATE INDEX delivery_ts ON delivery(ts, seq);
CREATE TABLE outbox (                   -- what is to stand on the platform
	id      INTEGER PRIMARY KEY AUTOINCREMENT,
	key     TEXT NOT NULL UNIQUE,
	session INTEGER NOT NULL,
	prompt  INTEGER NOT NULL,           -- whose answer it is
	thread  TEXT NOT NULL,
	text    TEXT NOT NULL,
	state   TEXT NOT NULL,              -- waiting, sent, posted, failed, unknown
	tries   INTEGER NOT NULL DEFAULT 0,
	due     INTEGER NOT NULL DEFAULT 0, -- Unix milliseconds: not before
	made    INTEGER NOT NULL,
	ts      TEXT NOT NULL DEFAULT '',   -- the platform's id
	error   TEXT NOT NULL DEFAULT '',
	told    INTEGER NOT NULL DEFAULT 0  -- the model knows that it is not there
) STRICT;
CREATE INDEX outbox_open ON outbox(id) WHERE state IN ('waiting', 'sent');
CREATE INDEX outbox_lost ON outbox(session, id) WHERE state IN ('failed', 'unknown') AND NOT told;
`, `
-- Forks from any entry.
CREATE TABLE branch (                   -- where a session has started afresh
	session INTEGER NOT NULL REFERENCES session(id),
	root    INTEGER NOT NULL,           -- the first entry of the branch
	PRIMARY KEY (session, root)
) STRICT, WITHOUT ROWID;
INSERT INTO branch SELECT session, seq FROM entry -- a line may be spoilt, or too deep for SQLite
	WHERE CASE WHEN json_valid(CAST(line AS TEXT)) THEN CAST(line AS TEXT) ->> 'customType' = 'mikan.reset' END;

-- What waits and what runs, among however many prompts that have settled.
CREATE INDEX prompt_queued ON prompt(session, id) WHERE state = 'queued';
CREATE INDEX prompt_running ON prompt(session, id) WHERE state = 'running';
CREATE INDEX prompt_run ON prompt(run, id) WHERE state = 'running';

-- The words of what is kept, for the search. The text itself is in the lines.
CREATE VIRTUAL TABLE entry_words USING fts5(words, content='', columnsize=0, tokenize='ascii');
CREATE VIRTUAL TABLE record_words USING fts5(words, content='', columnsize=0, tokenize='ascii');
INSERT INTO entry_words(rowid, words) SELECT seq, mikan_entry_words(line) FROM entry;
INSERT INTO record_words(rowid, words) SELECT seq, mikan_record_words(line) FROM record;
CREATE TRIGGER entry_inserted AFTER INSERT ON entry BEGIN
	INSERT INTO entry_words(rowid, words) SELECT new.seq, w FROM (SELECT mikan_entry_words(new.line) AS w) WHERE w != '';
END;
CREATE TRIGGER record_inserted AFTER INSERT ON record BEGIN
	INSERT INTO record_words(rowid, words) SELECT new.seq, w FROM (SELECT mikan_record_words(new.line) AS w) WHERE w != '';
END;

-- Background tasks: each is a session, tasks/<id>, beside those of the chat.
CREATE TABLE task (
	id      INTEGER PRIMARY KEY,
	session INTEGER NOT NULL UNIQUE REFERENCES session(id),
	resumed INTEGER NOT NULL DEFAULT 0, -- how often a start has gone on with it
	started INTEGER NOT NULL            -- Unix milliseconds
) STRICT;

-- compactions
CREATE TABLE compaction (               -- the entries that are one
	session INTEGER NOT NULL REFERENCES session(id),
	seq     INTEGER NOT NULL,
	kept    INTEGER NOT NULL,           -- the first entry that stays in the context
	PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- What a session hears of the chat. Sessions that have run need not hear what was
-- said before there was this.
ALTER TABLE session ADD COLUMN heard INTEGER NOT NULL DEFAULT 0; -- the last record that it has been given, or need not be
ALTER TABLE prompt  ADD COLUMN record INTEGER NOT NULL DEFAULT 0; -- its record
ALTER TABLE prompt  ADD COLUMN memory TEXT NOT NULL DEFAULT '';   -- what its session's was then
ALTER TABLE prompt  ADD COLUMN ending INTEGER NOT NULL DEFAULT 0; -- the last entry of its run
ALTER TABLE record  ADD COLUMN voice  INTEGER NOT NULL DEFAULT 0; -- 0: nobody's, 1: somebody's, 2: ours
ALTER TABLE record  ADD COLUMN thread TEXT NOT NULL DEFAULT '';   -- the suffix of the session that is to hear it
ALTER TABLE record  ADD COLUMN ts     TEXT NOT NULL DEFAULT '';   -- the platform's id of the message
ALTER TABLE record  ADD COLUMN change TEXT NOT NULL DEFAULT '';
ALTER TABLE record  ADD COLUMN prompt INTEGER NOT NULL DEFAULT 0; -- that it is, or answers
UPDATE record SET
	thread = coalesce(CAST(line AS TEXT) ->> 'threadTs', ''),
	ts     = coalesce(CAST(line AS TEXT) ->> 'ts', ''),
	change = coalesce(CAST(line AS TEXT) ->> 'change', ''),
	voice  = CASE
		WHEN CAST(line AS TEXT) ->> 'error' IS NOT NULL OR ltrim(CAST(line AS TEXT) ->> 'text') LIKE '/%' THEN 0
		WHEN CAST(line AS TEXT) ->> 'change' = 'deleted' THEN 1
		WHEN trim(CAST(line AS TEXT) ->> 'text') = '' THEN 0
		WHEN CAST(line AS TEXT) ->> 'user' = 'bot' THEN 2
		ELSE 1 END
	WHERE json_valid(CAST(line AS TEXT));
UPDATE session SET heard = (SELECT coalesce(max(seq), 0) FROM record) WHERE leaf != 0;
CREATE INDEX record_voice ON record(thread, seq) WHERE voice != 0;
CREATE INDEX record_ts ON record(ts, seq) WHERE ts != '';
CREATE INDEX record_time ON record(time);

-- what limits and guards need to know of a prompt
ALTER TABLE prompt ADD COLUMN origin TEXT NOT NULL DEFAULT '';   -- what made it, if no person waits for it
ALTER TABLE prompt ADD COLUMN spent  TEXT NOT NULL DEFAULT '';   -- what its run has used: JSON
ALTER TABLE prompt ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0; -- of the daemon, in a row, while it was at the head of its queue
`}

// Create opens the store at path, making it if it is not there. Where a damaged
// one was set aside it makes none: that is an [*Unusable].
func Create(ctx context.Context, path string) (*DB, error) {
	switch info, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err == nil && !info.Mode().IsRegular():
		return nil, fmt.Errorf("open %s: %w", path, errIrregular)
	default:
		return Open(ctx, path)
	}
	if err := missing(path, nil); err != nil {
		return nil, err
	}
	// Without this an empty file is a damaged store, with it one in the making.
	if err := os.WriteFile(path+making, nil, 0o600); err != nil {
		return nil, err
	}
	db, err := create(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	return &DB{db}, made(path)
}

// making is behind the name of the file that stands beside a store while it is
// made.
const making = ".making"

func made(path string) error {
	if err := os.Remove(path + making); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// Open opens the store at path, which must be there.
func Open(ctx context.Context, path string) (*DB, error) {
	db, err := open(ctx, path, migrations)
	if err != nil {
		return nil, err
	}
	return &DB{db}, nil
}

// Close ends the use of the store.
func (db *DB) Close() error { return db.sql.Close() }

// create is open for a database that may not be there. It is the owner's alone
// from the first, and so are the files that SQLite makes beside it.
func create(ctx context.Context, path string, migrations []string) (*sql.DB, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return open(ctx, path, migrations)
}

// busyTimeout is how long a connection waits for another.
const busyTimeout = 5 * time.Second

// open opens an SQLite database with one connection and brings its schema up to
// date.
func open(ctx context.Context, path string, migrations []string) (*sql.DB, error) {
	q := url.Values{
		"mode":    {"rw"},
		"_pragma": {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)", "cache_size(-512)"},
		"_txlock": {"immediate"},
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	if err := whenFree(ctx, func() error { return migrate(ctx, db, migrations) }); err != nil {
		db.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}

// whenFree does f again while another connection makes the database a WAL: for
// that alone SQLite does not wait by itself.
func whenFree(ctx context.Context, f func() error) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		err := f()
		var s *sqlite.Error
		if !errors.As(err, &s) || s.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func migrate(ctx context.Context, db *sql.DB, migrations []string) error {
	var app, version, tables int
	row := db.QueryRowContext(ctx, `SELECT a.application_id, v.user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id a, pragma_user_version v`)
	if err := row.Scan(&app, &version, &tables); err != nil {
		return err
	}
	switch {
	case app == 0 && tables == 0:
	case app != ApplicationID:
		return ErrForeign
	case version > len(migrations):
		return fmt.Errorf("%w: it has version %d, and up to %d is known; use the mikan that wrote it, or a newer one", ErrNewer, version, len(migrations))
	case version == len(migrations):
		return nil
	}
	return inTx(ctx, db, func(tx *sql.Tx) error {
		// Another connection may have come first.
		if err := tx.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&version); err != nil {
			return err
		}
		for _, m := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, m); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", ApplicationID, len(migrations)))
		return err
	})
}

// inTx runs f in a transaction, which is committed if f returns nil.
func inTx(ctx context.Context, db *sql.DB, f func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return known(err)
	}
	if err := f(tx); err != nil {
		if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) {
			err = errors.Join(err, undone)
		}
		return known(err)
	}
	return known(tx.Commit())
}

// known gives SQLite's word for a full disk the errno that everyone knows.
func known(err error) error {
	var s *sqlite.Error
	if errors.As(err, &s) && s.Code()&0xff == sqlite3.SQLITE_FULL {
		return fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	}
	return err
}

// Foreign reports whether the database at path is another program's.
func Foreign(ctx context.Context, path string) (bool, error) {
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro")
	if err != nil {
		return false, err
	}
	defer db.Close()
	var app int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&app); err != nil {
		return false, fmt.Errorf("open %s: %w", path, err)
	}
	return app != ApplicationID, nil
}
