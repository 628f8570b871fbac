package ninep

import (
	"errors"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// maxSentence bounds the sentence of an error: nothing longer is read.
const maxSentence = 1024

// rerror is the reply to a request that failed with err.
func (s *session) rerror(tag uint16, err error) *proto.RError {
	room := int(s.msize) - frameHeader - 2
	return &proto.RError{
		Header: proto.Header{Type: proto.Rerror, Tag: tag},
		Ename:  ename(err, s.dialect, room),
	}
}

// ename is what 9P says for err, in at most room bytes: the string of its kind
// alone to a kernel that compares strings, and otherwise behind the sentence.
func ename(err error, exact bool, room int) string {
	kind := fs.KindOf(err)
	text := sentence(err)
	if exact || text == "" || text == kind.String() {
		return kind.String()
	}
	tail := ": " + kind.String()
	return clip(text, min(room, maxSentence)-len(tail)) + tail
}

// sentence is the text of err without its operation and path, which the client
// knows.
func sentence(err error) string {
	var e *fs.Error
	if errors.As(err, &e) {
		return e.Sentence()
	}
	return err.Error()
}

// clip shortens s to n bytes, between two characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// parseEname is the reverse of ename. It also knows the errors of the C library,
// which other servers send.
func parseEname(text string) *fs.Error {
	if k, ok := kindOfText(text); ok {
		return &fs.Error{Kind: k}
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		if k, ok := kindOfText(text[i+2:]); ok {
			return &fs.Error{Kind: k, Text: text[:i]}
		}
	}
	return &fs.Error{Kind: fs.IO, Text: text}
}

func kindOfText(text string) (fs.Kind, bool) {
	if k, ok := fs.ParseKind(text); ok {
		return k, true
	}
	for no := syscall.Errno(1); no < 134; no++ {
		if strings.EqualFold(no.Error(), text) {
			return fs.KindOf(no), true
		}
	}
	return fs.IO, false
}
