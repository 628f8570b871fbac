package harness

import (
	"errors"
	"strconv"
	"strings"
)

// frontmatter reads the lines between two lines --- at the beginning of a
// Markdown file: `key: value`, the subset of YAML that such files use. A value
// may be quoted, or go on in indented lines, which are joined with spaces. Keys
// of other shapes are skipped.
func frontmatter(data []byte) (map[string]string, error) {
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), bom)
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return nil, errors.New("the file does not begin with a frontmatter (---)")
	}
	raw := map[string][]string{} // the lines of each value
	key := ""
	for {
		line, more, ok := strings.Cut(rest, "\n")
		line = strings.TrimRight(line, " \t\r")
		switch k, v, isKey := strings.Cut(line, ":"); {
		case line == "---":
			return values(raw), nil
		case !ok:
			return nil, errors.New("the frontmatter does not end (---)")
		case line == "" || line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			raw[key] = append(raw[key], strings.TrimSpace(line))
		case isKey:
			key = strings.Trim(k, " \t'\"")
			if v = strings.TrimSpace(v); v != "" && (v[0] == '>' || v[0] == '|') {
				v = v[:1] // how the lines are to be joined, and why, does not matter
			}
			raw[key] = []string{v}
		default:
			key = ""
		}
		rest = more
	}
}

// values takes the YAML marks off the values in raw, and what no text has.
func values(raw map[string][]string) map[string]string {
	out := map[string]string{}
	for k, lines := range raw {
		text := clean([]byte(scalar(strings.Join(lines, " "))))
		out[k] = strings.Join(strings.Fields(text), " ")
	}
	return out
}

// scalar is the text that v, of one line, stands for in YAML.
func scalar(v string) string {
	v = strings.TrimSpace(v)
	if v == "" {
		return ""
	}
	switch v[0] {
	case '"':
		if s, err := strconv.QuotedPrefix(v); err == nil {
			if s, err = strconv.Unquote(s); err == nil {
				return s
			}
		}
		return strings.Trim(v, `"`)
	case '\'':
		inner := strings.ReplaceAll(v[1:], "''", "\x00")
		inner, _, _ = strings.Cut(inner, "'")
		return strings.ReplaceAll(inner, "\x00", "'")
	case '>', '|':
		_, text, _ := strings.Cut(v, " ")
		return text
	}
	text, _, _ := strings.Cut(v, " #")
	return text
}
