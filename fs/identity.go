package fs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Identity is who asks. The kernel vouches for the numbers (peer credentials
// on a socket, the header of a FUSE request); what a client claims is ignored.
type Identity struct {
	Name   string   // the user's or the extension's name, for logs and records
	UID    uint32   //
	GID    uint32   // the primary group
	Groups []uint32 // supplementary groups
	PID    int      // the calling process; 0 if unknown
	// Terminal is the kernel session (getsid) of the caller, 0 if unknown: the
	// last error is kept for each user and terminal.
	Terminal int
	// Rights, if not nil, replaces the mode bits: only what it lists can be
	// opened, whatever the numbers say.
	Rights Rights
	// Until, if not zero, is when it all ends: from then on whatever the identity
	// tries is refused, and a read that waits is ended. Only what it wrote before
	// is still committed.
	Until time.Time
}

// Valid is nil as long as the identity may do what its rights and the mode bits
// say, and Permission from Until on.
func (id *Identity) Valid() error {
	if id.Until.IsZero() || time.Now().Before(id.Until) {
		return nil
	}
	return expired()
}

func expired() error { return Errorf(Permission, "the rights have expired; ask for new ones") }

// Rights lists what a connection may open. It is given by whoever hands over
// the connected descriptor and is never asked for by the client.
type Rights []Right

// Right lets a path be opened for reading, for writing, or both. A directory's
// right covers what is below it.
type Right struct {
	Path        string // slash-separated, from the root, no leading slash; "" is everything
	Read, Write bool
}

// ParseRights reads lines of "path r|w|rw". A path holds no blank. An empty
// text is the empty list, which allows nothing.
func ParseRights(text string) (Rights, error) {
	list := Rights{}
	for n, line := range strings.Split(text, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 2 || !slices.Contains([]string{"r", "w", "rw"}, f[1]) {
			return nil, Errorf(Invalid, "rights line %d: want \"path r|w|rw\", have %q", n+1, line)
		}
		p := strings.TrimPrefix(path.Clean("/"+f[0]), "/")
		list = append(list, Right{p, strings.Contains(f[1], "r"), strings.Contains(f[1], "w")})
	}
	return list, nil
}

// String is the form that [ParseRights] reads.
func (r Rights) String() string {
	var b strings.Builder
	for _, x := range r {
		how := ""
		if x.Read {
			how += "r"
		}
		if x.Write {
			how += "w"
		}
		fmt.Fprintf(&b, "/%s %s\n", x.Path, how)
	}
	return b.String()
}

// Allows reports whether name may be opened for the given access; reading may be
// one right's and writing another's.
func (r Rights) Allows(name string, read, write bool) bool {
	var covered, canRead, canWrite bool
	for _, x := range r {
		if within(x.Path, name) {
			covered = true
			canRead = canRead || x.Read
			canWrite = canWrite || x.Write
		}
	}
	return covered && (canRead || !read) && (canWrite || !write)
}

// Shows reports whether name may be walked to: it lies below a right's path, or
// on the way to one.
func (r Rights) Shows(name string) bool {
	for _, x := range r {
		if within(x.Path, name) || within(name, x.Path) {
			return true
		}
	}
	return false
}

// within reports whether name is dir or below it.
func within(dir, name string) bool {
	return dir == "" || name == dir || strings.HasPrefix(name, dir+"/")
}

// access is a Unix permission check of want (4 read, 2 write, 1 search)
// against info's bits: the class of owner, group or other, and root passes for
// reading, writing and searching, as the kernel has it.
func (id *Identity) access(info Info, want uint32) bool {
	if id.UID == 0 {
		return true
	}
	bits := uint32(info.Mode.Perm())
	switch {
	case id.UID == info.UID:
		bits >>= 6
	case id.GID == info.GID || slices.Contains(id.Groups, info.GID):
		bits >>= 3
	}
	return bits&want == want
}
