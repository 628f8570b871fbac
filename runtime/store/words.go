package store

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The index holds words. A character of a script that writes without spaces is a
// word by itself, so that any piece of such a text is a phrase of the index.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo, unicode.Yi,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// maxWord is how many runes of a word count.
const maxWord = 64

// words splits a text into words, in lower case.
func words(text string) []string {
	var list []string
	var word strings.Builder
	n := 0
	flush := func() {
		if n > 0 {
			list = append(list, word.String())
			word.Reset()
			n = 0
		}
	}
	for _, r := range text {
		r = fold(r)
		switch {
		case alone(r):
			flush()
			list = append(list, string(r))
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r) && n > 0:
			if n < maxWord {
				word.WriteRune(r)
			}
			n++
		default:
			flush()
		}
	}
	flush()
	return list
}

// fold makes one of the forms of a character that people take for the same.
func fold(r rune) rune {
	if 0xff01 <= r && r <= 0xff5e { // full width
		r -= 0xff01 - '!'
	}
	return unicode.ToLower(unicode.ToUpper(r)) // ς is σ, ſ is s
}

// alone reports whether r is a word by itself.
func alone(r rune) bool {
	if r < utf8.RuneSelf {
		return false
	}
	return r == 'ー' || unicode.In(r, unspaced...) || r != utf8.RuneError && unicode.Is(unicode.So, r)
}

// The most of a query that counts; what is beyond it finds more, not less. The
// index is read once for each word.
const (
	maxQuery = 1000 // runes
	maxWords = 64
)

// expression is a query of the index for what a person typed: all the parts
// between blanks must be there, each as it stands, the last word of each perhaps
// longer. It is empty if there is no word in the query. Nothing of the query is
// syntax: only words get in, and in quotes.
func expression(query string) string {
	if runes := []rune(query); len(runes) > maxQuery {
		query = string(runes[:maxQuery])
	}
	var phrases []string
	left := maxWords
	for _, part := range strings.Fields(query) {
		list := words(part)
		if list = list[:min(left, len(list))]; len(list) == 0 {
			continue
		}
		phrase := `"` + strings.Join(list, " ") + `"`
		if last := []rune(list[len(list)-1]); len(last) > 1 {
			phrase += "*"
		}
		if !slices.Contains(phrases, phrase) {
			phrases = append(phrases, phrase)
			left -= len(list)
		}
	}
	return strings.Join(phrases, " AND ")
}
