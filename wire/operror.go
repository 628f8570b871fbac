package wire

import (
	"strings"
	"time"
)

// OpError is why a platform has not done an operation, as an adapter writes it
// behind "error". Plain text may be tried again a few times; "final: text" will
// not get better; "retry-after 35s: text" is a platform's limit, after which the
// operation is sent again.
type OpError struct {
	Text       string
	Final      bool
	RetryAfter time.Duration
}

const (
	finalMark = "final: "
	retryMark = "retry-after "
)

// MaxRetryAfter is the longest wait that an adapter can ask for.
const MaxRetryAfter = time.Hour

// ParseOpError reads the text of an answer. What is not one of the marks is
// text.
func ParseOpError(text string) OpError {
	if rest, ok := strings.CutPrefix(text, finalMark); ok {
		return OpError{Text: rest, Final: true}
	}
	if rest, ok := strings.CutPrefix(text, retryMark); ok {
		wait, rest, _ := strings.Cut(rest, ":")
		if d, err := time.ParseDuration(wait); err == nil && d > 0 {
			return OpError{Text: strings.TrimSpace(rest), RetryAfter: min(d, MaxRetryAfter)}
		}
	}
	return OpError{Text: text}
}

// Error is the text with its mark, as it is written.
func (e OpError) Error() string {
	switch {
	case e.Final:
		return finalMark + e.Text
	case e.RetryAfter > 0:
		return retryMark + e.RetryAfter.String() + ": " + e.Text
	}
	return e.Text
}
