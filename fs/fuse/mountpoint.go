package fuse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// resolve makes dir absolute and free of symbolic links, as the kernel's table
// of mounts names it. It does not touch what may be mounted there.
func resolve(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if _, err := os.Readlink(dir); err == nil {
		return filepath.EvalSymlinks(dir)
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil
	}
	return filepath.Join(parent, filepath.Base(dir)), err
}

// prepare makes dir ready to be mounted on: it exists, is empty, and has no
// mount of ours on it.
func prepare(dir, name string) error {
	if err := clearStale(dir, name); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err == nil {
		return errors.New("the directory is not empty: choose an empty one, a mount would hide what is in it")
	} else if err != io.EOF {
		return err
	}
	return nil
}

// clearStale unmounts what a server that is gone has left on dir. The table of
// mounts is read first because a mount that hangs must not be touched.
func clearStale(dir, name string) error {
	const tries = 8 // a mount can lie upon a mount
	for range tries {
		m, ok := mountAt(dir)
		if !ok || m.fstype != "fuse."+name {
			return nil
		}
		if err := probe(dir); !errors.Is(err, unix.ENOTCONN) {
			return errors.New("already mounted there: stop the other server, or unmount it with: fusermount3 -u " + dir)
		}
		if err := detach(dir, m.minor); err != nil {
			return fmt.Errorf("clear a mount that has no server: %w", err)
		}
	}
	return errors.New("too many dead mounts on top of each other: unmount them with: fusermount3 -uz " + dir)
}

// probe asks the file system on dir for something that the kernel does not know
// itself, and gives up after a while. The goroutine ends with the system call,
// which is when the server of that mount answers or dies.
func probe(dir string) error {
	result := make(chan error, 1)
	go func() {
		var st unix.Statfs_t
		result <- unix.Statfs(dir, &st)
	}()
	timeout := time.NewTimer(2 * time.Second)
	defer timeout.Stop()
	select {
	case err := <-result:
		return err
	case <-timeout.C:
		return unix.ETIMEDOUT
	}
}

// mountEntry is a line of /proc/self/mountinfo.
type mountEntry struct {
	minor  int // of the device, which is FUSE's number of the connection
	point  string
	fstype string
}

// mountAt finds the topmost mount on dir.
func mountAt(dir string) (m mountEntry, ok bool) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return m, false
	}
	for line := range bytes.Lines(table) {
		if e, valid := parseMount(string(line)); valid && e.point == dir {
			m, ok = e, true
		}
	}
	return m, ok
}

// parseMount reads a line as in proc_pid_mountinfo(5):
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
func parseMount(line string) (mountEntry, bool) {
	before, after, ok := strings.Cut(line, " - ")
	f, g := strings.Fields(before), strings.Fields(after)
	if !ok || len(f) < 5 || len(g) < 1 {
		return mountEntry{}, false
	}
	_, minor, _ := strings.Cut(f[2], ":")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return mountEntry{}, false
	}
	return mountEntry{minor: n, point: unescape(f[4]), fstype: g[0]}, true
}

// unescape undoes the octal escapes of blanks, newlines and backslashes.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
