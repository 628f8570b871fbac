package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"mikan/harness"
)

// bodyLimit is as much of a server's refusal as is read.
const bodyLimit = 64 << 10

// Guard stands between an SDK and the server and says what went wrong.
type Guard struct {
	Provider string   // the provider's id, with which every sentence begins
	Secrets  []string // never in a sentence, even if the server repeats them
}

// Check is a middleware for both SDKs: it passes a stream on and makes a
// [*harness.ModelError] of anything else.
func (g Guard) Check(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	res, err := next(req)
	if err != nil {
		return nil, g.Broken(req.Context(), err)
	}
	if res.StatusCode == http.StatusOK && mayStream(res.Header.Get("Content-Type")) {
		return res, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, bodyLimit))
	if err != nil && req.Context().Err() != nil {
		return nil, req.Context().Err()
	}
	if res.StatusCode == http.StatusOK {
		return nil, g.sentence(harness.Refused, res.StatusCode, "the server answered with "+
			mediaType(res.Header.Get("Content-Type"))+" instead of a stream; is the base URL right?")
	}
	return nil, g.Failure(res.StatusCode, res.Header, body)
}

// mayStream reports whether a body of that type can be a stream of events.
// Servers that forget the type exist; pages and plain objects are none.
func mayStream(contentType string) bool {
	t := mediaType(contentType)
	return t != "text/html" && t != "application/json"
}

func mediaType(contentType string) string {
	t, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return "data of no type"
	}
	return t
}

// Broken makes the error of a call that err ended without a word from the
// server: ctx's own error if ctx is done, else a transient one. An error that
// is already a [*harness.ModelError] stays.
func (g Guard) Broken(ctx context.Context, err error) error {
	var known *harness.ModelError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return known
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return g.sentence(harness.Transient, 0, "the answer broke off")
	}
	// A url.Error repeats the whole address, and an address may hold a key.
	text, cause := "", err
	if u := (*url.Error)(nil); errors.As(err, &u) {
		cause = u.Err
		if at, parseErr := url.Parse(u.URL); parseErr == nil {
			text = "cannot reach " + at.Host + ": "
		}
	}
	e := g.sentence(harness.Transient, 0, text+cause.Error())
	e.Err = cause
	return e
}

// Refusal makes the error of an answer that the model itself declined to give.
func (g Guard) Refusal(text string) error { return g.sentence(harness.Refused, 0, text) }

func (g Guard) sentence(t harness.Trouble, status int, text string) *harness.ModelError {
	if status != 0 && status != http.StatusOK {
		text = fmt.Sprintf("HTTP %d: %s", status, text)
	}
	return &harness.ModelError{Trouble: t, Status: status, Text: g.Provider + ": " + g.redact(text)}
}

// redact takes the secrets out of text that a server wrote.
func (g Guard) redact(text string) string {
	for _, s := range g.Secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, "[key]")
		}
	}
	return text
}
