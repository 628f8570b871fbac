package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mikan/runtime/store"
)

// migrationsFile records that the state directory is of this program's format.
// Its form is the original program's, so that both recognise it.
type migrationsFile struct {
	Applied []appliedMigration `json:"applied"`
}

type appliedMigration struct {
	ID        string `json:"id"`
	AppliedAt string `json:"appliedAt"`
}

// firstMigration is the record of a fresh start.
const firstMigration = "mikan-go-1"

// CheckFormat refuses what the original program left and has not been migrated,
// and marks a fresh state directory as ours.
func CheckFormat(ctx context.Context, w *Workspace) error {
	path := filepath.Join(w.StateDir, "migrations.json")
	data, ok, err := readState(path)
	if err != nil {
		return err
	}
	if ok {
		var m migrationsFile
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("%s: %w; restore it from a backup", path, err)
		}
		for _, a := range m.Applied {
			if a.ID == firstMigration {
				return nil
			}
		}
		return originalError(path)
	}
	if found, err := original(ctx, w); err != nil || found != "" {
		return errors.Join(err, originalErrorIf(found))
	}
	data, err = json.MarshalIndent(migrationsFile{[]appliedMigration{{firstMigration, time.Now().UTC().Format(time.RFC3339)}}}, "", "  ")
	if err != nil {
		return err
	}
	return writeState(path, append(data, '\n'))
}

func originalErrorIf(found string) error {
	if found == "" {
		return nil
	}
	return originalError(found)
}

func originalError(found string) error {
	return fmt.Errorf("%s is of the original program; \"mikan migrate\" will convert it and is not there yet, so use another --state-dir and --workspace", found)
}

// original looks for what only the original program leaves: an office under a
// name that is no key, or a sessions.db that is not ours.
func original(ctx context.Context, w *Workspace) (string, error) {
	entries, err := os.ReadDir(w.Root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		if !e.IsDir() || IsOfficeKey(e.Name()) {
			continue
		}
		for _, sign := range []string{"log.jsonl", "sessions"} {
			path := filepath.Join(w.Root, e.Name(), sign)
			info, err := os.Lstat(path)
			if err == nil && info.IsDir() == (sign == "sessions") {
				return path, nil
			}
		}
	}
	dbs, err := filepath.Glob(filepath.Join(w.StateDir, "conversations", "*", "sessions.db"))
	if err != nil {
		return "", err
	}
	for _, path := range dbs {
		if foreign, err := store.Foreign(ctx, path); err != nil || foreign {
			return path, err
		}
	}
	return "", nil
}
