package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// part is a step on the way to show a directory without what is private in it.
type part struct {
	how  []string // bwrap's arguments
	copy string   // instead of them: a regular file that is copied
}

// arguments are bwrap's. A small file is copied, which takes a fraction of the
// time of a mount.
func (p part) arguments(fds *descriptors) []string {
	if p.copy == "" {
		return p.how
	}
	f, err := os.OpenFile(p.copy, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil
	}
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o004 == 0 {
		f.Close() // it has become private
		return nil
	}
	return []string{"--perms", fmt.Sprintf("%#o", fi.Mode().Perm()), "--file", strconv.Itoa(fds.add(f)), p.copy}
}

// maxCopied is how long a file may be that is copied.
const maxCopied = 64 << 10

// show makes of dir, which is shown as it is, a directory without what is
// private in it, at any depth. To cover that up would not do: who replaces a
// file by a rename, as passwd(1) does, uncovers it for a command that runs. So a
// directory with something private below it is made anew, of what else is in it,
// and what comes to be there later is not seen.
func show(dir string, hidden []string) []part {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return nil
	}
	s := survey{left: maxLooked, hidden: hidden}
	parts, whole := s.dir(dir)
	if whole {
		return nil
	}
	if s.left < 0 || len(parts) > maxShown {
		return []part{{how: []string{"--tmpfs", dir, "--remount-ro", dir}}}
	}
	return parts
}

// survey looks for what is private.
type survey struct {
	left   int // files that it may still look at
	hidden []string
}

// dir reports whether there is nothing private below a directory, and if there
// is, what shows the rest.
func (s *survey) dir(dir string) (parts []part, whole bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, true // what we cannot look at, a command cannot, either
	}
	whole = true
	parts = []part{{how: []string{"--tmpfs", dir}}}
	for _, e := range entries {
		if s.left--; s.left < 0 {
			return nil, false
		}
		entry, all := s.entry(filepath.Join(dir, e.Name()), e)
		whole = whole && all
		parts = append(parts, entry...)
	}
	if whole {
		return nil, true
	}
	return append(parts, part{how: []string{"--remount-ro", dir}}), false
}

// entry is how to show what is in a directory that is made anew, and whether it
// could as well be shown with the whole directory. What is hidden is not touched.
func (s *survey) entry(path string, e fs.DirEntry) (parts []part, whole bool) {
	if slices.Contains(s.hidden, path) {
		return nil, false
	}
	switch e.Type() {
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		if err != nil {
			return nil, true
		}
		return []part{{how: []string{"--symlink", target, path}}}, true
	case fs.ModeDir:
		if fi, err := e.Info(); err == nil && private(path, fi, 0o001, unix.X_OK) {
			return nil, false
		}
		if parts, whole := s.dir(path); !whole {
			return parts, false
		}
	case 0:
		fi, err := e.Info()
		switch {
		case err != nil:
			return nil, true
		case private(path, fi, 0o004, unix.R_OK):
			return nil, false
		case fi.Size() <= maxCopied && fi.Mode()&0o004 != 0:
			return []part{{copy: path}}, true
		}
	default:
		return nil, false // who listens on a socket expects who may connect
	}
	return []part{{how: []string{"--ro-bind-try", path, path}}}, true
}

// private reports whether we have access to what not everybody has.
func private(path string, fi fs.FileInfo, everybody fs.FileMode, access uint32) bool {
	return fi.Mode()&everybody == 0 && unix.Access(path, access) == nil
}
