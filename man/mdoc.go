package man

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is how long a line of a page's source is at most.
const width = 78

// escape makes s text that stands for itself in a line of mdoc.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "…", "...").Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

// argument makes s one argument of a macro.
func argument(s string) string {
	s = escape(s)
	if strings.ContainsAny(s, " \t|") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// sentence makes the text of a table a sentence.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

var sentenceEnd = regexp.MustCompile(`[.] +[A-Z]`)

// sentences splits a text where one ends and the next begins.
func sentences(s string) []string {
	var list []string
	for {
		at := sentenceEnd.FindStringIndex(s)
		if at == nil {
			return append(list, s)
		}
		list = append(list, s[:at[0]+1])
		s = s[at[1]-1:]
	}
}

// prose sets a text: each sentence begins a line.
func prose(s string) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for _, s := range sentences(s) {
		n := 0
		for _, word := range strings.Fields(s) {
			switch {
			case n == 0:
				word = escape(word)
			case n+1+len(word) > width:
				b.WriteByte('\n')
				word, n = escape(word), 0
			default:
				b.WriteByte(' ')
				word, n = strings.TrimPrefix(escape(word), `\&`), n+1
			}
			b.WriteString(word)
			n += len(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var errnoList = regexp.MustCompile(`^((?:E[A-Z0-9]+(?:, )?)+): `)

// failures sets what a table says of errors: "EINVAL: no text. EBUSY: …", also
// behind the name of an operation, "mkdir: EEXIST."
func failures(s string) string {
	if s == "" {
		return ""
	}
	var b strings.Builder
	for _, s := range sentences(s) {
		if m := errnoList.FindStringSubmatch(s); m != nil {
			b.WriteString(".Er " + strings.ReplaceAll(m[1], ",", " ,") + " :\n")
			s = s[len(m[0]):]
		}
		b.WriteString(prose(s))
	}
	return b.String()
}
