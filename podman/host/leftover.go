package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// KillLeftovers kills what a daemon that was killed has left of its confined
// commands whose home lies in dir. bwrap dies with its parent; but the first
// process of a command waits for bwrap before it does the same, and so waits for
// ever if bwrap is killed just then. The caller must own dir alone: what a
// living daemon runs there would be killed too.
func KillLeftovers(dir string) error {
	dir = canonical(dir)
	list, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, proc := range list {
		pid, err := strconv.Atoi(filepath.Base(proc))
		if err != nil {
			continue
		}
		killLeftover(pid, dir)
	}
	return nil
}

// killLeftover kills process pid if it is a bwrap with a home in dir. The pidfd
// is taken first, so that it is the one looked at that is killed.
func killLeftover(pid int, dir string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // gone
	}
	defer unix.Close(fd)
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return // gone
	}
	argv := strings.Split(string(bytes.TrimSuffix(data, []byte{0})), "\x00")
	if filepath.Base(argv[0]) != "bwrap" {
		return
	}
	for i, a := range argv {
		if a == "--" {
			return // what follows is the command's
		}
		if i > 1 && argv[i-2] == "--bind-fd" && inside(a, dir) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) // ESRCH: gone; EPERM: not ours
			return
		}
	}
}
