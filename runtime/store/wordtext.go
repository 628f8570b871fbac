package store

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"modernc.org/sqlite"

	"mikan/wire"
)

// How much is indexed, in bytes.
const (
	maxText   = 256 << 10 // of a text
	maxOutput = 8 << 10   // of a tool's output and of its arguments, from each end
)

// The functions that the index is filled with are the database's, so that a
// trigger can do it in the transaction that adds the row, whoever adds it.
func init() {
	for name, text := range map[string]func([]byte) string{
		"mikan_entry_words":  entryText,
		"mikan_record_words": recordText,
	} {
		sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			line, _ := args[0].([]byte)
			return strings.Join(words(text(line)), " "), nil
		})
	}
}

// recordText is what can be found of a log record.
func recordText(line []byte) string {
	var r wire.Record
	if json.Unmarshal(line, &r) != nil {
		return ""
	}
	parts := []string{r.UserName, r.DisplayName, head(r.Text, maxText)}
	for _, a := range r.Attachments {
		parts = append(parts, a.Name)
	}
	return strings.Join(parts, "\n")
}

// entryText is what can be found of a transcript's entry: all that people and
// models have said, with the calls of tools and both ends of their output.
func entryText(line []byte) string {
	var e wire.Entry
	if json.Unmarshal(line, &e) != nil {
		return ""
	}
	parts := []string{e.Name, e.Label, head(e.Summary, maxText)}
	if m, ok := e.Seen(); ok && e.Summary == "" && m.ToolName != wire.ToolHistory {
		for _, p := range m.Content {
			if p.Name == wire.ToolHistory {
				continue
			}
			text := head(p.Text, maxText)
			if m.Role == wire.ToolResult {
				text = ends(p.Text, maxOutput)
			}
			parts = append(parts, text, p.Name, ends(literals(p.Arguments), maxOutput))
		}
	}
	return strings.Join(parts, "\n")
}

// literals is the strings and numbers of a JSON value, without its keys.
func literals(data json.RawMessage) string {
	if len(data) == 0 {
		return ""
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // a number is found as it is written
	if d.Decode(&v) != nil {
		return ""
	}
	var b strings.Builder
	collect(&b, v)
	return b.String()
}

func collect(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			collect(b, v[key])
		}
	case []any:
		for _, x := range v {
			collect(b, x)
		}
	case string, json.Number:
		fmt.Fprintln(b, v)
	}
}

// head is at most n bytes of the beginning of s.
func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ends is s without its middle: at most n bytes of each end.
func ends(s string, n int) string {
	if len(s) <= 2*n {
		return s
	}
	tail := len(s) - n
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return head(s, n) + "\n" + s[tail:]
}
