package mcp

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// link is a connection to a server, from its beginning to its end.
type link struct {
	client    *sdk.Client
	transport sdk.Transport
	conn      sdk.Connection // as soon as there is one
	session   *sdk.ClientSession
	release   func() // of what the transport holds; it waits
	process   *process

	waiting sync.WaitGroup
	ended   chan struct{} // closed when the session has ended
	changed chan struct{} // the server's tools have changed

	mu      sync.Mutex
	last    int
	reports map[string]func(string) // of the calls that run, by progress token
}

// Connect remembers the connection, so that it can be closed whatever else
// happens.
func (l *link) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := l.transport.Connect(ctx)
	l.conn = conn
	return conn, err
}

// oldProtocol is the last revision whose handshake does not begin with a question
// that older servers do not know.
const oldProtocol = "2025-11-25"

// begin shakes hands, in the old way or in the new one, which most old servers
// can decline.
func (l *link) begin(ctx context.Context, old bool) (err error) {
	opts := &sdk.ClientSessionOptions{}
	if old {
		opts.ProtocolVersion = oldProtocol
	}
	l.session, err = unharmed(func() (*sdk.ClientSession, error) { return l.client.Connect(ctx, l, opts) })
	if err != nil {
		return err
	}
	l.waiting.Go(func() {
		defer close(l.ended)
		_ = l.session.Wait()
	})
	return nil
}

// unharmed is f, which reads an answer of the server, or an error if the answer is
// such that the protocol's library panics.
func unharmed[T any](f func() (T, error)) (t T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its answer cannot be read: %v", v)
		}
	}()
	return f()
}

// close ends the connection and returns when nothing is left of it. cancel ends
// its requests.
func (l *link) close(cancel func()) {
	if l.conn != nil {
		_ = l.conn.Close()
	}
	cancel()
	if l.session != nil {
		_ = l.session.Close()
	}
	l.waiting.Wait()
	l.release()
}

// said is the end of what a process that is of no more use wrote to its standard
// error.
func (l *link) said(s secrets) string {
	if l.process == nil {
		return ""
	}
	_ = l.process.Close()
	select {
	case <-l.process.gone: // and all it wrote was read
	case <-time.After(closeGrace):
	}
	lines := strings.Split(strings.TrimSpace(l.process.stderr.without(s)), "\n")
	last := strings.TrimSpace(strings.Join(lines[max(0, len(lines)-3):], " "))
	if last == "" {
		return ""
	}
	return "; it said: " + last
}

func (l *link) listChanged() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// expect makes a progress token for a call, whose reports go to progress until
// forget is called.
func (l *link) expect(progress func(string)) (token string, forget func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	token = "call-" + strconv.Itoa(l.last)
	l.reports[token] = spaced(progress)
	return token, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.reports, token)
	}
}

const reportEvery = 250 * time.Millisecond

// spaced is progress without the reports that come too soon after another.
func spaced(progress func(string)) func(string) {
	var last time.Time
	return func(s string) {
		if now := time.Now(); now.Sub(last) >= reportEvery {
			last = now
			progress(s)
		}
	}
}

// report passes a report of progress on.
func (l *link) report(p *sdk.ProgressNotificationParams) {
	if p == nil {
		return
	}
	text := p.Message
	if text == "" {
		text = strconv.FormatFloat(p.Progress, 'g', 6, 64)
	}
	if p.Total > 0 {
		text += fmt.Sprintf(" (%g/%g)", p.Progress, p.Total)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	token, _ := p.ProgressToken.(string)
	if progress := l.reports[token]; progress != nil {
		progress(strings.ToValidUTF8(text, "\uFFFD"))
	}
}
