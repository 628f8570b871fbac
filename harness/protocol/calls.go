package protocol

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Arguments is what a model wrote as the arguments of a call, {} if that is
// nothing. It may be no JSON at all: the loop puts that right, and tells the
// model.
func Arguments(text string) json.RawMessage {
	if strings.TrimSpace(text) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(text)
}

// IsObject reports whether raw is a JSON object.
func IsObject(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) > 0 && t[0] == '{' && json.Valid(t)
}
