package modeltest

import "unicode/utf8"

// Split is where a stream is cut, both into the pieces that the protocol has
// and into the chunks that the network delivers.
type Split int

// The ways to cut.
const (
	Whole        Split = iota // one chunk, and text in one piece
	Words                     // a chunk an event, and text by the word
	ByteByByte                // a chunk a byte
	InsideUTF8                // chunks end inside characters, pieces between them
	InsideEscape              // chunks and pieces end inside the escapes of JSON
)

// Splits are all ways to cut, for tests that try each.
var Splits = map[string]Split{
	"whole": Whole, "words": Words, "byte by byte": ByteByByte, "inside UTF-8": InsideUTF8, "inside escapes": InsideEscape,
}

// chunks cuts a stream as the network does.
func (s Split) chunks(stream string) []string {
	var cut func(i int) bool // before byte i
	switch s {
	case Words:
		cut = func(i int) bool { return stream[i-1] == '\n' && stream[i] != '\n' }
	case ByteByByte:
		cut = func(int) bool { return true }
	case InsideUTF8:
		cut = func(i int) bool { return !utf8.RuneStart(stream[i]) }
	case InsideEscape:
		cut = func(i int) bool { return stream[i-1] == '\\' || i > 2 && stream[i-2] == '\\' && stream[i-1] == 'u' }
	default:
		return []string{stream}
	}
	var out []string
	from := 0
	for i := 1; i < len(stream); i++ {
		if cut(i) {
			out = append(out, stream[from:i])
			from = i
		}
	}
	return append(out, stream[from:])
}

// pieces cuts a text as a model does, never inside a character.
func (s Split) pieces(text string) []string {
	if s == Whole || text == "" {
		return []string{text}
	}
	var out []string
	from := 0
	for i, r := range text {
		last := byte(0)
		if i > 0 {
			last = text[i-1]
		}
		switch {
		case i == 0:
		case s == Words && last == ' ', s == ByteByByte, s == InsideUTF8 && r >= utf8.RuneSelf,
			s == InsideEscape && (last == '\\' || last == 'u' && i > 1 && text[i-2] == '\\'):
			out = append(out, text[from:i])
			from = i
		}
	}
	return append(out, text[from:])
}
