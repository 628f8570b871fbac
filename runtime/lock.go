package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Lock makes the state directory, which is the owner's alone, and takes it for
// this process. Another daemon that has it is named by its pid.
func Lock(stateDir string) (unlock func() error, err error) {
	if err := ownDir(stateDir); err != nil {
		return nil, err
	}
	run := filepath.Join(stateDir, "run")
	if err := ensureDir(run); err != nil {
		return nil, err
	}
	path := filepath.Join(run, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		pid, _ := os.ReadFile(path)
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("state directory %s: a daemon with pid %s has it", stateDir, strings.TrimSpace(string(pid)))
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// ownDir makes the state directory, or checks that it is a directory of this
// user that others cannot write.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	switch st, _ := info.Sys().(*syscall.Stat_t); {
	case !info.IsDir():
		return fmt.Errorf("state directory %s: not a directory", dir)
	case st != nil && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("state directory %s belongs to uid %d, not to you; chown it or choose another --state-dir", dir, st.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("state directory %s has mode %04o and others can write it; chmod 0700 it", dir, info.Mode().Perm())
	}
	return nil
}
