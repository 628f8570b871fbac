package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// What a result of a tool may hold of a text, so that no single call fills the
// model's window.
const (
	maxLines = 2000
	maxBytes = 50 * 1024
)

// Tools returns the tools that work on c: bash, edit, read and write. Those that
// share w change a file one after the other. Names, descriptions and schemas are
// the same bytes each time, so that a provider's cache of them holds.
func Tools(c Computer, w *Writers) []Tool {
	return []Tool{bashTool(c), editTool(c, w), readTool(c), writeTool(c, w)}
}

// decode reads the arguments of a call into v. Unknown ones are ignored.
func decode(args json.RawMessage, v any) error {
	err := json.Unmarshal(args, v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Errorf("bad arguments: %s cannot be a JSON %s", wrong.Field, wrong.Value)
	}
	if err != nil {
		return fmt.Errorf("bad arguments: %w", err)
	}
	return nil
}

// present checks an argument that must not be empty and that goes to the
// system as a C string.
func present(name, value string) error {
	if value == "" {
		return fmt.Errorf("bad arguments: %s is missing", name)
	}
	if strings.ContainsRune(value, 0) {
		return fmt.Errorf("bad arguments: %s holds a NUL character", name)
	}
	return nil
}

// number is an optional number that a model may also write as a string.
type number float64

// UnmarshalJSON takes a number, a string that holds one, "" and null.
func (n *number) UnmarshalJSON(b []byte) error {
	s := strings.TrimSpace(string(bytes.Trim(b, `"`)))
	if s == "" || s == "null" {
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%.40s is not a number", b)
	}
	*n = number(f)
	return nil
}

// or is n as a whole number, or instead if n is not positive.
func (n number) or(instead int) int {
	if n < 1 {
		return instead
	}
	return int(min(n, math.MaxInt32))
}

// size is a number of bytes for people.
func size[N int | int64](n N) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// quote makes s one word of a shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
