package fs

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// The bounds of what passes through a [Service], in bytes.
const (
	MaxRequestLine = 1 << 10  // a line that is read, with its newline
	MaxAnswerLine  = 1 << 20  // a line that is written
	MaxRequestBody = 64 << 20 // the body of a request
	MaxAnswerBody  = 16 << 20 // what a listener puts in its place
)

// BodyDir is the name of a [Bodies], beside the service files that it is for.
const BodyDir = ".body"

// BodyPath is the file with the body of the request tag, from the directory of
// its service file.
func BodyPath(tag uint64) string { return BodyDir + "/" + strconv.FormatUint(tag, 10) }

// RequestLine is what is read from a [Service]: "<tag> <json>".
type RequestLine struct {
	Tag  uint64
	JSON json.RawMessage
}

// ParseRequestLine reads a line, with or without its newline.
func ParseRequestLine(line []byte) (RequestLine, error) {
	tag, rest, err := cutTag(line)
	if err == nil && !json.Valid(rest) {
		err = Errorf(Invalid, "want a request \"tag json\", have %.64q", line)
	}
	return RequestLine{tag, rest}, err
}

// Append adds the line and its newline to b.
func (r RequestLine) Append(b []byte) []byte {
	b = append(strconv.AppendUint(b, r.Tag, 10), ' ')
	return append(append(b, r.JSON...), '\n')
}

// HasBody reports whether the line says that there is more, in [BodyPath].
func (r RequestLine) HasBody() bool {
	var named struct {
		Body json.RawMessage `json:"body"`
	}
	return json.Unmarshal(r.JSON, &named) == nil && string(named.Body) == strconv.Quote(BodyPath(r.Tag))
}

// withBody adds to the object r.JSON that there is a body.
func (r RequestLine) withBody() (RequestLine, error) {
	object, ok := bytes.CutSuffix(r.JSON, []byte("}"))
	if !ok {
		return r, Errorf(Invalid, "a request with a body is a JSON object")
	}
	r.JSON = bytes.Clone(object)
	if len(object) > 1 {
		r.JSON = append(r.JSON, ',')
	}
	r.JSON = append(append(append(r.JSON, `"body":"`...), BodyPath(r.Tag)...), `"}`...)
	return r, nil
}

// AnswerLine is what is written to a [Service]: "<tag> <verb>[ <rest>]".
type AnswerLine struct {
	Tag  uint64
	Verb string
	Rest string // a text or JSON, valid UTF-8 without a newline
}

// ParseAnswerLine reads a line, with or without its newline. Whether the verb
// means anything and what must follow it, the service knows.
func ParseAnswerLine(line []byte) (AnswerLine, error) {
	tag, rest, err := cutTag(line)
	if err != nil {
		return AnswerLine{}, err
	}
	verb, rest, _ := bytes.Cut(rest, []byte(" "))
	if len(verb) == 0 {
		return AnswerLine{}, Errorf(Invalid, "want an answer \"tag verb …\", have %.64q", line)
	}
	return AnswerLine{tag, string(verb), string(bytes.TrimSpace(rest))}, nil
}

// Append adds the line and its newline to b. What would end the line early, in
// a text of several lines, becomes a blank.
func (a AnswerLine) Append(b []byte) []byte {
	b = append(strconv.AppendUint(b, a.Tag, 10), ' ')
	b = append(b, a.Verb...)
	if a.Rest != "" {
		b = append(b, ' ')
		b = append(b, bytes.ReplaceAll([]byte(a.Rest), []byte("\n"), []byte(" "))...)
	}
	return append(b, '\n')
}

// cutTag splits a line behind its first word, which is a tag. Bytes that are no
// UTF-8 are replaced: a listener that cuts characters apart must be heard all
// the same.
func cutTag(line []byte) (uint64, []byte, error) {
	line = bytes.ToValidUTF8(bytes.TrimSpace(line), []byte("\uFFFD"))
	if bytes.IndexByte(line, '\n') >= 0 {
		return 0, nil, Errorf(Invalid, "more than one line: %.64q", line)
	}
	word, rest, _ := bytes.Cut(line, []byte(" "))
	tag, err := strconv.ParseUint(string(word), 10, 64)
	if err != nil {
		return 0, nil, Errorf(Invalid, "want a line that begins with a request's tag, have %.64q", line)
	}
	return tag, bytes.TrimSpace(rest), nil
}
