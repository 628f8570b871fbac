package fs

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

const maxAncestors = 64

// actsFor reports whether id is the client holder, or a process that it has
// started.
func (id *Identity) actsFor(holder *Identity) bool {
	if id == holder {
		return true
	}
	if id.Rights != nil || holder.Rights != nil || id.UID != holder.UID {
		return false
	}
	return holder.PID > 1 && descends(id.PID, holder.PID)
}

// descends reports whether pid is ancestor or a process below it. Of a process
// that is gone nothing is known.
func descends(pid, ancestor int) bool {
	for range maxAncestors {
		if pid == ancestor {
			return true
		}
		if pid <= 1 {
			return false
		}
		pid = parent(pid)
	}
	return false
}

// parent is the process that pid descends from; 0 if unknown.
func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// "pid (name) state ppid …", where the name may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	ppid, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return 0
	}
	return ppid
}
