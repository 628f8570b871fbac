package man

import (
	"fmt"
	"strings"

	"mikan/wire"
)

// hooks describes the hooks: when each asks, and with which fields.
func hooks() string {
	var b strings.Builder
	for _, h := range wire.Hooks {
		fmt.Fprintf(&b, ".It Cm %s\n%sAsks: %s.\nA replacement may have: %s.\n", h.Name, prose(h.Help), fields(h.Asks), fields(h.Takes))
	}
	return b.String()
}

// fields sets the names of JSON fields.
func fields(list string) string {
	return strings.ReplaceAll(escape(list), " ", "\n")
}
