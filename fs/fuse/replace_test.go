package fuse_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// replace renames files over settings.json for a moment, while others look for
// it, open it and change its mode by that name.
func replace(args []string) error {
	name := filepath.Join(args[0], "settings.json")
	looks := []func() error{
		func() error { _, err := os.Lstat(name); return err },
		func() error { return os.Chmod(name, 0o640) },
		func() error {
			f, err := os.Open(name)
			if err == nil {
				err = f.Close()
			}
			return err
		},
	}
	until := time.Now().Add(2 * time.Second)
	failed := make(chan error)
	for i, look := range looks {
		go func() {
			n, missing := 0, 0
			var last error
			for ; time.Now().Before(until); n++ {
				if err := look(); err != nil {
					missing++
					last = err
				}
			}
			if last != nil {
				last = fmt.Errorf("look %d failed %d of %d times: %w", i, missing, n, last)
			}
			failed <- last
		}()
	}
	var err error
	for time.Now().Before(until) && err == nil {
		tmp := filepath.Join(args[0], "tmp")
		if err = os.WriteFile(tmp, []byte("{}\n"), 0o640); err == nil {
			err = os.Rename(tmp, name)
		}
	}
	for range looks {
		err = errors.Join(err, <-failed)
	}
	return err
}

// A file that is replaced is never missing, however the requests of the one who
// looks for it fall before and after the rename.
func TestAFileThatIsReplacedIsAlwaysThere(t *testing.T) {
	m, _ := settings(t)
	if out, err := child(t.Context(), "replace", m).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
