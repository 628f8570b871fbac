package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mikan/wire"
)

const (
	attempts  = 3                // of one model call
	baseDelay = 2 * time.Second  // before the second attempt; doubled for each further one
	maxDelay  = 60 * time.Second // however long the server wishes
	idleLimit = 5 * time.Minute  // [Run.Idle] if it is 0
	callLimit = 30 * time.Minute // [Run.Deadline] if it is 0
)

// call makes one model call, with up to [attempts] attempts. Of a failed attempt
// that is followed by another nothing remains; of the last one the message is
// what had arrived. What arrives is told to emit. A limit that is reached before
// an attempt is the error.
func (l *loop) call(ctx context.Context, req Request, emit func(wire.Event)) (wire.Message, error) {
	limit := cmp.Or(l.Deadline, callLimit)
	call, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for n := 1; ; n++ {
		if err := l.Meter.Check(); err != nil {
			return wire.Message{}, err
		}
		m, err := l.attempt(call, req, emit)
		l.complete(&m)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
		delay, again := retry(err, n)
		if end, _ := call.Deadline(); call.Err() != nil || again && time.Until(end) <= delay {
			err, again = overdue(limit, n, err), false
		}
		switch {
		case !again && n > 1:
			return m, fmt.Errorf("%w (tried %d times)", err, n)
		case !again:
			return m, err
		}
		l.emit(wire.Event{Type: wire.AgentError, Error: err.Error(), Retry: n + 1})
		l.lose(m)
		sleep(ctx, delay)
		if ctx.Err() != nil {
			return wire.Message{}, context.Cause(ctx)
		}
	}
}

// lose notes an attempt that leaves no message.
func (l *loop) lose(m wire.Message) {
	if m.Role != "" { // there was one
		l.ending.Lost = append(l.ending.Lost, bill(m))
	}
}

// bill is of an answer the model and the usage.
func bill(m wire.Message) wire.Message {
	if m.Usage == nil {
		m.Usage = &wire.Usage{}
	}
	return wire.Message{Role: m.Role, Provider: m.Provider, Model: m.Model, Usage: m.Usage}
}

// overdue is the error of a call that takes too long; the last of its n attempts
// ended with err.
func overdue(limit time.Duration, n int, err error) error {
	tries := "1 attempt"
	if n > 1 {
		tries = fmt.Sprintf("%d attempts", n)
	}
	return &ModelError{Trouble: Refused, Text: fmt.Sprintf("the model has not finished its answer within %v, in %s; ask again, or for less at a time", limit, tries), Err: err}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// retry says whether to try again after the nth attempt failed with err, and
// after which delay.
func retry(err error, n int) (time.Duration, bool) {
	var e *ModelError
	if n >= attempts || !errors.As(err, &e) || e.Trouble != Transient && e.Trouble != RateLimit {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return min(e.RetryAfter, maxDelay), true
	}
	return baseDelay << (n - 1), true
}

// complete fills in what the provider left open, and counts the call.
func (l *loop) complete(m *wire.Message) {
	l.ending.Calls++
	m.Role = wire.Assistant
	if m.API == "" {
		m.API, m.Provider, m.Model = l.Model.API, l.Model.Provider, l.Model.ID
	}
	if m.Timestamp == 0 {
		m.Timestamp = time.Now().UnixMilli()
	}
	var used wire.Usage
	if m.Usage != nil {
		bound(m.Usage)
		if l.Model.Price != (Price{}) {
			l.Model.Price.Cost(m.Usage)
		}
		used = *m.Usage
	}
	l.ending.Usage.Add(used)
	if used.Total == 0 {
		used = l.guess(*m)
	}
	l.Meter.Add(used)
}

var (
	errIdle    = errors.New("idle")
	errFlooded = errors.New("flooded")
)

// floodLimit is how many bytes of text and reasoning an answer may have: far
// more than its tokens can be, so that only a server that keeps no limit of its
// own is cut off.
func (l *loop) floodLimit() int { return 1<<20 + 32*max(l.Model.MaxTokens, 0) }

// attempt is one attempt of a model call. It ends when the provider returns,
// when the model has sent nothing for too long, or when ctx is done, and does
// not rely on the provider to see to that.
func (l *loop) attempt(ctx context.Context, req Request, emit func(wire.Event)) (wire.Message, error) {
	call, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := cmp.Or(l.Idle, idleLimit)
	idle := time.AfterFunc(limit, func() { cancel(errIdle) })
	defer idle.Stop()
	late, stop := lateness(call)
	defer stop()

	in := &incoming{emit: emit, room: l.floodLimit(), flooded: func() { cancel(errFlooded) }}
	defer in.close()
	done := make(chan reply, 1)
	l.left.Go(func() {
		done <- stream(call, l.Provider, req, func(d Delta) {
			idle.Reset(limit)
			in.add(d)
		})
	})

	var r reply
	select {
	case r = <-done:
	case <-late.Done():
		r.err = context.Cause(call)
	}
	if r.err == nil {
		return r.message, nil
	}
	if r.message.PlainText() == "" {
		r.message.Content = append(r.message.Content, wire.TextPart(in.close()))
	}
	switch cause := context.Cause(call); {
	case ctx.Err() != nil:
	case errors.Is(cause, errIdle):
		r.err = &ModelError{Trouble: Transient, Text: fmt.Sprintf("the model sent nothing for %v", limit), Err: r.err}
	case errors.Is(cause, errFlooded):
		r.err = &ModelError{Trouble: Refused, Text: fmt.Sprintf("the model's answer does not end; it was cut off after %d bytes", l.floodLimit()), Err: r.err}
	}
	return r.message, r.err
}

// reply is what [Provider.Stream] returned.
type reply struct {
	message wire.Message
	err     error
}

// stream calls p and turns a panic into an error.
func stream(ctx context.Context, p Provider, req Request, emit func(Delta)) (r reply) {
	defer func() {
		if v := recover(); v != nil {
			r = reply{err: fmt.Errorf("the provider %s failed inside: %v", req.Model.Provider, caught(ctx, v))}
		}
	}()
	m, err := p.Stream(ctx, req, emit)
	return reply{m, err}
}

// incoming takes the deltas of one attempt.
type incoming struct {
	emit    func(wire.Event)
	room    int    // bytes that may still come
	flooded func() // called when more do

	mu     sync.Mutex // held while an event is emitted, so that none follows close
	text   strings.Builder
	closed bool
}

func (in *incoming) add(d Delta) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.room -= len(d.Text); in.room < 0 {
		in.flooded()
		return
	}
	switch {
	case in.closed || d.Text == "":
	case d.Thinking:
		in.emit(wire.Event{Type: wire.ThinkingDelta, Text: d.Text})
	default:
		in.text.WriteString(d.Text)
		in.emit(wire.Event{Type: wire.Delta, Text: d.Text})
	}
}

// close ends the attempt for a provider that has not noticed yet, and returns
// the text that has come.
func (in *incoming) close() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	return in.text.String()
}
