package harness

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// headOf returns the whole lines at the beginning of s that fit the limits of a
// result, and whether that is less than all of s.
func headOf(s string) (head string, cut bool) {
	end := len(s)
	if end > maxBytes {
		end = max(strings.LastIndexByte(s[:maxBytes+1], '\n'), 0)
	}
	for i, line := 0, 1; i < end; i, line = i+1, line+1 {
		n := strings.IndexByte(s[i:end], '\n')
		if n < 0 {
			break
		}
		i += n
		if line == maxLines {
			end = i
		}
	}
	return s[:end], end < len(s)
}

// tailOf returns the lines at the end of s, which is UTF-8, that fit the limits
// of a result. They are whole, unless the last line alone does not fit: then it
// is partial, the end of that line.
func tailOf(s string) (tail string, partial bool) {
	start := 0
	if len(s) > maxBytes {
		start = len(s) - maxBytes
		if s[start-1] != '\n' {
			n := strings.IndexByte(s[start:], '\n')
			if n < 0 {
				return s[whole(s, start):], true
			}
			start += n + 1
		}
	}
	for i, line := len(s), 1; ; line++ {
		n := strings.LastIndexByte(s[start:i], '\n')
		if n < 0 {
			return s[start:], false
		}
		i = start + n
		if line == maxLines {
			return s[i+1:], false
		}
	}
}

// maxCluster is how far whole looks for the end of what is read as one
// character.
const maxCluster = 128

// whole returns the first index from i on where s can be cut without tearing a
// character as people see it: no rune, no combining mark, no emoji sequence and
// no flag is split.
func whole(s string, i int) int {
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	for j := i; j < len(s) && j < i+maxCluster; {
		if !joined(s, j) {
			return j
		}
		_, n := utf8.DecodeRuneInString(s[j:])
		j += n
	}
	return i
}

const joiner = '\u200d'

// joined says whether the runes before and after index i of s belong together.
// It covers what occurs in practice, not the whole of Unicode's rules.
func joined(s string, i int) bool {
	if i == 0 || i == len(s) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i:])
	switch {
	case before == '\n':
		return false
	case before == '\r':
		return after == '\n'
	case before == joiner, after == joiner, unicode.Is(unicode.M, after), skinTone(after), tagRune(after):
		return true
	case flagHalf(before) && flagHalf(after):
		return flagHalves(s[:i])%2 == 1
	}
	return jamo(before) && jamo(after)
}

func skinTone(r rune) bool { return 0x1f3fb <= r && r <= 0x1f3ff }
func tagRune(r rune) bool  { return 0xe0020 <= r && r <= 0xe007f }
func flagHalf(r rune) bool { return 0x1f1e6 <= r && r <= 0x1f1ff }
func jamo(r rune) bool     { return 0x1100 <= r && r <= 0x11ff }

// flagHalves counts the regional indicators at the end of s.
func flagHalves(s string) int {
	n := 0
	for {
		r, size := utf8.DecodeLastRuneInString(s)
		if !flagHalf(r) {
			return n
		}
		n, s = n+1, s[:len(s)-size]
	}
}

// clean makes the output of a program a text for a model: UTF-8, without
// control characters other than tab, line feed, return and escape.
func clean(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\x1b' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
}
