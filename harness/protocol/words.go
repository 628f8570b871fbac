package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"mikan/harness"
)

// Effort is the word of OpenAI's protocols for a request's thinking level; empty
// if the model is to be left alone.
func Effort(req harness.Request) string {
	level := req.Thinking
	if level == "" {
		level = "off"
	}
	switch word := req.Model.Levels[level]; {
	case !req.Model.Reasons:
		return ""
	case word != "":
		return word
	case level == "off":
		return ""
	case level == "xhigh" || level == "max":
		return "high" // what every reasoning model knows
	}
	return level
}

// Short makes an id of at most limit characters, the same one each time. The
// limit is at least 14.
func Short(id string, limit int) string {
	if len(id) <= limit {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:limit-13], "") + "_" + hex.EncodeToString(sum[:6])
}
