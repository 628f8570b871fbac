package fuse

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"sync"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mikan/fs"
)

const (
	callerTTL  = time.Second // short, because process ids are used again
	maxCallers = 1024
)

// caller is the process behind a request.
type caller struct {
	fs.Identity
	until time.Time
}

// callers remembers who asked, for a moment, so that a burst of requests reads
// /proc once. A caller whose groups change within that moment is seen with the
// old ones here; the kernel, which checks permissions as well, has the new.
type callers struct {
	mu    sync.Mutex
	known map[gofuse.Caller]*caller
	names map[uint32]string
}

// of returns who made the request of ctx. The result is shared: do not change it.
func (c *callers) of(ctx context.Context) *fs.Identity {
	from, ok := gofuse.FromContext(ctx)
	if !ok {
		return &fs.Identity{UID: nobody, GID: nobody}
	}
	now := time.Now()
	c.mu.Lock()
	who, ok := c.known[*from]
	c.mu.Unlock()
	if ok && now.Before(who.until) {
		return &who.Identity
	}
	who = &caller{Identity: c.identify(*from), until: now.Add(callerTTL)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.known) >= maxCallers || c.known == nil {
		c.known = make(map[gofuse.Caller]*caller)
	}
	c.known[*from] = who
	return &who.Identity
}

// nobody is the overflow uid, which owns nothing.
const nobody = 65534

// identify asks the kernel about the caller. The id in a request is a thread's,
// and 0 for a process in a pid namespace that is not below ours.
func (c *callers) identify(from gofuse.Caller) fs.Identity {
	who := fs.Identity{Name: c.name(from.Uid), UID: from.Uid, GID: from.Gid, PID: int(from.Pid)}
	if from.Pid == 0 {
		return who
	}
	if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", from.Pid)); err == nil {
		who.PID, who.Groups = parseStatus(status, who.PID)
	}
	if sid, err := unix.Getsid(int(from.Pid)); err == nil {
		who.Terminal = sid
	}
	return who
}

// parseStatus reads the thread group and the supplementary groups from a
// /proc/<pid>/status; pid stands in for a thread group that is not there.
func parseStatus(status []byte, pid int) (tgid int, groups []uint32) {
	tgid = pid
	for line := range bytes.Lines(status) {
		key, value, _ := bytes.Cut(line, []byte(":"))
		switch string(key) {
		case "Tgid":
			if n, err := strconv.Atoi(string(bytes.TrimSpace(value))); err == nil {
				tgid = n
			}
		case "Groups":
			for f := range bytes.FieldsSeq(value) {
				if g, err := strconv.ParseUint(string(f), 10, 32); err == nil {
					groups = append(groups, uint32(g))
				}
			}
			return tgid, groups
		}
	}
	return tgid, groups
}

// name is the user's name, or the number if there is none. It is looked up
// once for each uid while the mount lasts.
func (c *callers) name(uid uint32) string {
	c.mu.Lock()
	name, ok := c.names[uid]
	c.mu.Unlock()
	if ok {
		return name
	}
	name = strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.names) >= maxCallers || c.names == nil {
		c.names = make(map[uint32]string)
	}
	c.names[uid] = name
	return name
}
