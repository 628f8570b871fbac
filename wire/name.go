package wire

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// MainSession is the name in the path of the session without a suffix.
const MainSession = "main"

// TaskPrefix begins the name of a session that is a background task: tasks/3. The
// name of no other session has a slash.
const TaskPrefix = "tasks/"

// ReadmeName is the name of the file that every directory of the tree has.
const ReadmeName = "README"

// EscapeName makes a name for a path out of an id: bytes that cannot stand in a
// name (a slash, a percent sign, control characters, a leading dot) are
// percent-encoded, and so is the first byte of README, which the tree keeps for
// itself.
func EscapeName(id string) string { return escape(id, ReadmeName) }

// UnescapeName is the reverse of [EscapeName]. Of the spellings of an id only
// EscapeName's exists; ok is false for any other.
func UnescapeName(name string) (id string, ok bool) {
	id, ok = unescape(name)
	return id, ok && EscapeName(id) == name
}

// SessionName makes the name in the path of a session with a suffix; none is
// main, and a suffix that is main is escaped.
func SessionName(suffix string) string {
	if suffix == "" {
		return MainSession
	}
	return escape(suffix, ReadmeName, MainSession)
}

// SessionSuffix is the reverse of [SessionName]; ok is false for what is not the
// one spelling of a suffix.
func SessionSuffix(name string) (suffix string, ok bool) {
	if name == MainSession {
		return "", true
	}
	suffix, ok = unescape(name)
	return suffix, ok && SessionName(suffix) == name
}

func escape(id string, kept ...string) string {
	var b strings.Builder
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case c == '/', c == '%', c < 0x20, c == 0x7f, i == 0 && (c == '.' || slices.Contains(kept, id)):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(name string) (id string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			b.WriteByte(name[i])
			continue
		}
		if i+2 >= len(name) {
			return "", false
		}
		c, err := hex.DecodeString(name[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.WriteByte(c[0])
		i += 2
	}
	return b.String(), name != ""
}
