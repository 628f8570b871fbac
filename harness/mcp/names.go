package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the longest name of a tool that every provider takes.
const maxName = 64

// toolName is mcp__server__tool, as providers take names: [a-zA-Z0-9_-]{1,64}.
// Where that would be another name, or might be that of another server's tool,
// it ends in a digest of both, so that no two tools have one name.
func toolName(server, tool string) string {
	name := "mcp__" + server + "__" + tool
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	unmistakable := plain == name && len(name) <= maxName && tool != "" && tool[0] != '_' &&
		!strings.HasSuffix(server, "_") && !strings.Contains(server, "__") && !digested(tool)
	if unmistakable {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:digest/2])
	return plain[:min(len(plain), maxName-len(suffix))] + suffix
}

// digest is how many characters of a digest a name has.
const digest = 12

// digested reports whether a name looks as if it ended in a digest.
func digested(name string) bool {
	i := len(name) - digest - 1
	return i >= 0 && name[i] == '_' && strings.Trim(name[i+1:], "0123456789abcdef") == ""
}
