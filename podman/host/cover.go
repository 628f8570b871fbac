package host

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// secretive are the system directories where an administrator may keep what not
// everybody may read. The rest of /usr is the distribution's.
var secretive = []string{"/etc", large}

// large is the one of them that may take long to look through, so that is done
// once in a while only.
const (
	large    = "/usr/local"
	lookTime = time.Minute
)

const (
	maxLooked = 100_000 // files that are looked at in a directory; with more, it is not shown
	maxShown  = 1000    // mounts and copies that it takes to show one, likewise
)

// lookedAt is how to show [large], as it was found the last time.
type lookedAt struct {
	mu    sync.Mutex
	when  time.Time
	parts []part
}

// coverArgs cover up what the system directories would show too much: what not
// everybody may read, since commands have the daemon's user id, and what must
// never be seen.
func (c *Computer) coverArgs(fds *descriptors) []string {
	var args []string
	for _, p := range slices.Concat(show("/etc", c.hidden), c.showLarge()) {
		args = append(args, p.arguments(fds)...)
	}
	for _, h := range c.hidden {
		if !shown(h) {
			continue
		}
		if dir, ok := listed(h); ok {
			args = append(args, cover(h, dir)...)
		}
	}
	return args
}

// showLarge is show of [large].
func (c *Computer) showLarge() []part {
	c.large.mu.Lock()
	defer c.large.mu.Unlock()
	if now := time.Now(); c.large.when.IsZero() || now.Sub(c.large.when) > lookTime {
		c.large.when, c.large.parts = now, show(large, c.hidden)
	}
	return c.large.parts
}

// listed looks up in a path's directory whether it is there and is one itself.
func listed(path string) (dir, ok bool) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return false, false
	}
	for _, e := range entries {
		if e.Name() == filepath.Base(path) {
			return e.IsDir(), true
		}
	}
	return false, false
}

// shown reports whether a canonical path lies in a system directory that shows
// all it holds.
func shown(path string) bool {
	for _, dir := range secretive {
		if inside(path, dir) {
			return false
		}
	}
	for _, dir := range systemDirs {
		if inside(path, dir) {
			return true
		}
	}
	return false
}

// cover puts something empty over a directory or a file.
func cover(path string, dir bool) []string {
	if dir {
		return []string{"--tmpfs", path}
	}
	return []string{"--ro-bind", "/dev/null", path}
}
