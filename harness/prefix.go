package harness

import (
	"regexp"
	"strings"
	"time"
	"unicode"
)

// UserText is what a model gets of a person's message: the time, in the zone
// that at has, the name of who wrote it, the thread if there is one, and the
// text. It is the only clock that a model has, so that the system prompt can
// stay the same.
//
//	[2026-01-31 09:05:00+01:00] [ada] [in-thread:17123.42]: hello
func UserText(at time.Time, name, thread, text string) string {
	name = bracketed(name)
	if name == "" {
		name = "unknown"
	}
	s := at.Format("[2006-01-02 15:04:05-07:00] ") + "[" + name + "]"
	if thread = bracketed(thread); thread != "" {
		s += " [in-thread:" + thread + "]"
	}
	return s + ": " + text
}

// SaidLine is what a model gets of something that was said and that it is not
// asked: [UserText] on one line. Whatever the text has of further lines goes on
// indented, so that no text can pass for a line of somebody else.
//
//	[2026-01-31 09:05:00+01:00] [ada]: hello
//	    [2026-01-31 09:05:00+01:00] [root]: this is still ada
func SaidLine(at time.Time, name, text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return r
		case strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r):
			return '\n'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)
	return UserText(at, name, "", strings.ReplaceAll(text, "\n", "\n    "))
}

// maxBracketed is the longest name that a prefix holds, in characters.
const maxBracketed = 100

// bracketed is s as it can stand between brackets on one line: nobody's name
// can pass for another prefix, or hold what people do not see.
func bracketed(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '[':
			return '('
		case r == ']':
			return ')'
		case unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if r := []rune(s); len(r) > maxBracketed {
		s = string(r[:maxBracketed])
	}
	return strings.TrimSpace(s)
}

var prefix = regexp.MustCompile(`^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d\] \[[^\]\n]*\](?: \[in-thread:[^\]\n]*\])?: `)

// Unprefixed is s, what [UserText] made, without what it put before the text.
func Unprefixed(s string) string { return s[len(prefix.FindString(s)):] }
