package wire

import (
	"bytes"
	"encoding/json"
)

// PlainJSON is v as JSON for a model: <, > and & stand as they are.
func PlainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
