package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mikan/wire"
)

// written is the path of a store with some history, and the bytes of it.
func written(t testing.TB) (path string, data []byte) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	db, err := Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := db.CreateSession(context.Background(), "main", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		if err := db.Append(context.Background(), s.ID, []wire.Message{user(strings.Repeat(fmt.Sprint(i, " "), 100))}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path, data
}

func useOnce(p *Pool, path string) error {
	return p.Use(context.Background(), path, func(db *DB) error { _, err := db.Messages(context.Background(), 1); return err })
}

// What is no file is no damaged store: it stays, nothing waits for it, and the
// error says what it is.
func TestFault_B1_what_is_no_file_is_not_set_aside(t *testing.T) {
	good, _ := written(t)
	for name, put := range map[string]func(path string) error{
		"link":      func(path string) error { return os.Symlink(good, path) },
		"FIFO":      func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		if err := put(path); err != nil {
			t.Fatal(err)
		}
		pool := NewPool(1)
		defer pool.Close()
		pool.Aside = func(u *Unusable) { t.Errorf("%s: set aside: %v", name, u) }
		for _, err := range []error{useOnce(pool, path), second(Create(context.Background(), path))} {
			if err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// Who waits for a store that another opens can give up.
func TestPool_nobody_waits_for_an_opener_longer_than_he_wants(t *testing.T) {
	const path = "sessions.db"
	pool := NewPool(4)
	opening := &pooled{ready: make(chan struct{}), users: 1} // the opener
	pool.open[path] = opening
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := pool.Use(ctx, path, func(*DB) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if opening.users != 1 {
		t.Fatalf("%d users", opening.users)
	}
}

func second[T any](_ T, err error) error { return err }

// Whatever has happened to a database, it is moved aside as it is, under a name
// that the error gives; nothing appears in its place, also not after a restart,
// until it has been moved away or a good copy is back.
func TestFault_B1_a_damaged_database_is_set_aside_untouched(t *testing.T) {
	path, good := written(t)
	foreign := bytes.Clone(good)
	copy(foreign[68:], "else")
	flipped := bytes.Clone(good)
	for i := 4096 * 2; i < len(flipped); i += 7 {
		flipped[i] ^= 0x55
	}
	schema := bytes.Clone(good)
	copy(schema[100:], bytes.Repeat([]byte{0xff}, 300))
	for name, bad := range map[string][]byte{
		"empty":     {},
		"not a db":  []byte(strings.Repeat("not a database\n", 1000)),
		"zeros":     make([]byte, len(good)),
		"short":     good[:50],
		"truncated": good[:len(good)/2],
		"odd":       good[:len(good)-100],
		"foreign":   foreign,
		"schema":    schema,
		"bit rot":   flipped,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions.db")
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			var told *Unusable
			pool := NewPool(4)
			defer pool.Close()
			pool.Aside = func(u *Unusable) { told = u }
			var u *Unusable
			if err := useOnce(pool, path); !errors.As(err, &u) {
				t.Fatalf("used: %v", err)
			}
			if told == nil || filepath.Dir(told.Aside) != dir || !strings.Contains(told.Error(), told.Aside) {
				t.Fatalf("told %v", told)
			}
			if got, err := os.ReadFile(told.Aside); err != nil || !bytes.Equal(got, bad) {
				t.Fatalf("what was set aside has changed: %v", err)
			}
			again := NewPool(4) // after a restart
			defer again.Close()
			if err := useOnce(again, path); !errors.As(err, &u) || !strings.Contains(err.Error(), told.Aside) || !strings.Contains(err.Error(), path) {
				t.Fatalf("used again: %v", err)
			}
			if _, err := Create(context.Background(), path); !errors.As(err, &u) {
				t.Fatalf("made anew: %v", err)
			}
			if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
				t.Fatalf("something stands in its place: %v", err)
			}
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := useOnce(again, path); err != nil {
				t.Fatalf("a good copy: %v", err)
			}
		})
	}
	if err := os.Rename(path, path+".damaged-20260101T000000.000Z"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".damaged-20260101T000000.000Z", filepath.Join(t.TempDir(), "kept")); err != nil {
		t.Fatal(err)
	}
	db, err := Create(context.Background(), path)
	if err != nil {
		t.Fatalf("after it was moved away: %v", err)
	}
	db.Close()
}

// A database that turns out to be damaged while it is used is closed when nobody
// uses it, and nobody gets it until then.
func TestFault_B1_damage_found_in_use(t *testing.T) {
	path, _ := written(t)
	pool := NewPool(4)
	defer pool.Close()
	var told []string
	pool.Aside = func(u *Unusable) { told = append(told, u.Aside) }
	holding, let := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := pool.Use(context.Background(), path, func(*DB) error { close(holding); <-let; return nil }); err != nil {
			t.Error(err)
		}
	})
	<-holding
	var u *Unusable
	if err := pool.Use(context.Background(), path, func(*DB) error { return fmt.Errorf("read: %w", errDamaged) }); !errors.As(err, &u) {
		t.Fatal(err)
	}
	if err := useOnce(pool, path); !errors.As(err, &u) || len(told) > 0 {
		t.Fatalf("while it is held: %v, %v", err, told)
	}
	close(let)
	all.Wait()
	if err := useOnce(pool, path); !errors.As(err, &u) || len(told) != 1 || u.Aside != told[0] {
		t.Fatalf("afterwards: %v, %v", err, told)
	}
}

// The log of a database that a crash separated from it while it was set aside
// does not become that of the copy which is put in its place.
func TestFault_B1_setting_aside_is_completed(t *testing.T) {
	path, _ := written(t)
	aside := path + ".damaged-20260101T000000.000Z"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-wal", []byte("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	var u *Unusable
	if err := useOnce(NewPool(1), path); !errors.As(err, &u) || u.Aside != aside {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(aside + "-wal"); err != nil || string(got) != "log" {
		t.Fatalf("%q, %v", got, err)
	}
}

func TestFault_B1_a_newer_schema_is_refused_and_stays(t *testing.T) {
	path, _ := written(t)
	db, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.sql.Exec(fmt.Sprintf(`PRAGMA user_version = %d`, len(migrations)+1)); err != nil {
		t.Fatal(err)
	}
	db.Close()
	var u *Unusable
	if err := useOnce(NewPool(1), path); !errors.As(err, &u) || u.Aside != "" || !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), path) {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Fatal(err)
	}
}

// What a crash has left half made is made whole by the first who uses it.
func TestFault_B1_a_store_in_the_making_is_no_damage(t *testing.T) {
	for _, left := range []string{making, "", "both"} {
		path := filepath.Join(t.TempDir(), "sessions.db")
		for _, name := range []string{making, ""} {
			if left != "both" && left != name {
				continue
			}
			if err := os.WriteFile(path+name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pool := NewPool(1)
		err := useOnce(pool, path)
		pool.Close()
		var u *Unusable
		if errors.As(err, &u) != (left == "") {
			t.Errorf("left %q: %v", left, err)
		}
		if left == "" {
			continue
		}
		db, err := Create(context.Background(), path)
		if err != nil {
			t.Fatalf("left %q: %v", left, err)
		}
		db.Close()
		if _, err := os.Lstat(path + making); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("left %q: the mark stays: %v", left, err)
		}
	}
}

// What a kill leaves in the write-ahead log is no damage.
func TestFault_B1_a_log_that_was_not_checkpointed_is_no_damage(t *testing.T) {
	path, _ := written(t)
	db, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Append(context.Background(), 1, []wire.Message{user(strings.Repeat("more ", 20_000))}, time.Now()); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(t.TempDir(), "sessions.db") // as a kill would leave it
	for _, side := range append(sideCars, "") {
		data, err := os.ReadFile(path + side)
		if err == nil {
			err = os.WriteFile(left+side, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	pool := NewPool(1)
	defer pool.Close()
	err = pool.Use(context.Background(), left, func(db *DB) error {
		msgs, err := db.Messages(context.Background(), 1)
		if len(msgs) != 201 {
			t.Errorf("%d messages", len(msgs))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Ten writers, each with its own connection, neither lose nor mix anything.
func TestFault_B1_ten_writers_at_once(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "sessions.db")
	db := openTest(t, path)
	s, err := db.CreateSession(ctx, "main", "/office", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 10 {
		all.Go(func() {
			own, err := Open(ctx, path)
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			for i := range 10 {
				text := fmt.Sprintf("%d.%d", w, i)
				if err := own.Append(ctx, s.ID, []wire.Message{user(text), user(text + " again")}, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := saidIn(t, db, s.ID)
	if len(got) != 200 {
		t.Fatalf("%d messages, want 200", len(got))
	}
	next := map[string]int{}
	for i := 0; i < len(got); i += 2 {
		w, _, _ := strings.Cut(got[i], ".")
		if want := fmt.Sprintf("%s.%d", w, next[w]); got[i] != want || got[i+1] != want+" again" {
			t.Fatalf("%q, %q, want %q", got[i], got[i+1], want)
		}
		next[w]++
	}
	if texts := readBranch(t, transcript(t, db, s.ID, 1000)); len(texts) != 200 {
		t.Fatalf("a reader sees %d messages", len(texts))
	}
}

// Fault B2: a thousand sessions that are made, opened and closed leave as many
// descriptors open as before.
func TestFault_B2_descriptors_are_stable_over_a_thousand_sessions(t *testing.T) {
	ctx := context.Background()
	var paths []string
	for i := range 2 {
		paths = append(paths, filepath.Join(t.TempDir(), fmt.Sprint(i, ".db")))
		openTest(t, paths[i]).Close()
	}
	pool := NewPool(1) // so that each use of the other closes the one
	defer pool.Close()
	open := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(list)
	}
	step := func(i int) {
		err := pool.Use(ctx, paths[i/5%2], func(db *DB) error {
			s, err := db.CreateSession(ctx, fmt.Sprint("s", i), "/office", time.Now())
			if err != nil {
				return err
			}
			if _, err := db.Messages(ctx, s.ID); err != nil {
				return err
			}
			_, err = db.ReadTranscript(ctx, s.ID, make([]byte, 10), 0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	step(0)
	before := open()
	for i := 1; i <= 1000; i++ {
		step(i)
	}
	if after := open(); after > before {
		t.Fatalf("%d descriptors are open, %d were before", after, before)
	}
}
