package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// listenTime is how long a server may take to open the stream on which it
	// speaks unasked. Some hold it back until they have something to say; without
	// it, all else works.
	listenTime = 2 * time.Second
	// partTime is how long a server may take to hear that we leave.
	partTime = 500 * time.Millisecond
	// maxHops is how many redirections are followed.
	maxHops = 5
	// maxWaiting is how many messages may wait for the server to begin an answer.
	maxWaiting = 256
)

// newWeb is the transport of a server that speaks streamable HTTP. All its
// requests end with life, which giveUp ends; release lets go of idle connections.
func newWeb(life context.Context, giveUp context.CancelCauseFunc, c Config) (t sdk.Transport, release func()) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	client := &http.Client{Transport: &web{life: life, giveUp: giveUp, base: base, headers: c.Headers}, CheckRedirect: stay}
	return &sdk.StreamableClientTransport{Endpoint: c.URL, MaxEventSize: maxMessage, HTTPClient: client}, base.CloseIdleConnections
}

// stay follows a redirection only to where it came from: the headers are for
// that server alone.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case to.URL.Scheme != from.Scheme || to.URL.Host != from.Host:
		return fmt.Errorf("the server sends us on to %s://%s; name that in the settings if it is right", to.URL.Scheme, to.URL.Host)
	case len(via) > maxHops:
		return errors.New("the server sends us on and on")
	}
	return nil
}

// web makes the requests to one server.
type web struct {
	life    context.Context
	giveUp  context.CancelCauseFunc // ends life
	base    http.RoundTripper
	headers map[string]string
	waiting atomic.Int32 // messages that the server has not begun to answer
}

var (
	errLeft = errors.New("the connection was closed")
	errLate = errors.New("the server took too long")
)

// RoundTrip makes one request, with the headers of the settings.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		defer w.waiting.Add(-1)
		if w.waiting.Add(1) > maxWaiting {
			w.giveUp(errDeaf)
		}
	}
	if err := context.Cause(w.life); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(w.life, func() { cancel(errLeft) })
	end := func() { stop(); cancel(nil) }
	if limit := timeFor(r); limit > 0 {
		defer time.AfterFunc(limit, func() { cancel(errLate) }).Stop()
	}
	sent := r.Clone(ctx)
	for name, value := range w.headers {
		sent.Header.Set(name, value)
	}
	resp, err := w.base.RoundTrip(sent)
	if err != nil {
		late := context.Cause(ctx) == errLate
		end()
		if late && r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") == "" {
			return &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, room: room(resp), done: ctx.Done(), end: end}
	return resp, nil
}

// timeFor is how long the server may take to begin its answer; 0 is as long as
// the call may.
func timeFor(r *http.Request) time.Duration {
	switch r.Method {
	case http.MethodGet:
		return listenTime
	case http.MethodDelete:
		return partTime
	}
	return 0
}

// room is how long an answer may be; negative is without a limit, which a stream
// of events has, whose events are bounded each.
func room(r *http.Response) int {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
		return -1
	}
	return maxMessage
}

// body is an answer with a bound, or a stream of events that come at a bearable
// pace. Its request ends when it is closed.
type body struct {
	io.ReadCloser
	room   int
	events events
	pace   pace
	done   <-chan struct{}
	end    func()
}

// Read fails when the answer is too long.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.room < 0 {
		b.pace.wait(b.events.in(p[:n]), b.done)
	} else {
		if b.room -= n; b.room < 0 {
			return 0, fmt.Errorf("the server's answer has more than %d bytes", maxMessage)
		}
	}
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	b.end()
	return b.ReadCloser.Close()
}
