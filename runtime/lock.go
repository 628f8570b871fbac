package runtime

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
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
	if err := flock(f); err != nil {
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

// dying is how long the lock of a dead daemon may still be held: a command that
// it was about to start has its files until it runs.
const dying = 2 * time.Second

// flock takes the lock on f. One that a dead process has is waited for.
func flock(f *os.File) (err error) {
	for end := time.Now().Add(dying); ; time.Sleep(10 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(end) || ownerLives(f) {
			return err
		}
	}
}

// ownerLives reports whether the process lives that has written its pid to f.
func ownerLives(f *os.File) bool {
	var text [32]byte
	n, _ := f.ReadAt(text[:], 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return err != nil || pid <= 0 || syscall.Kill(pid, 0) != syscall.ESRCH
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
