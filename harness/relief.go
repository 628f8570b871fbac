package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"mikan/wire"
)

// ask makes the next model call. One that does not fit is made again with less
// of the history, a few times at most. Of a failed call that is followed by
// another nothing remains; of the last one the message is what had arrived.
func (l *loop) ask(ctx context.Context) (wire.Message, error) {
	for n := 1; ; n++ {
		req := l.request()
		m, err := l.send(ctx, req)
		if err == nil || ctx.Err() != nil || overBudget(err) {
			return m, err
		}
		failed := wire.Event{Type: wire.AgentError, Error: err.Error(), Retry: n + 1}
		if err = l.relieve(ctx, req, err, n); err != nil {
			failed.Error, failed.Retry = err.Error(), 0
		}
		if ctx.Err() == nil && !overBudget(err) {
			l.emit(failed)
		}
		if err != nil {
			return m, err
		}
		l.lose(m)
	}
}

// send makes a call, unless it is clear that its request does not fit.
func (l *loop) send(ctx context.Context, req Request) (wire.Message, error) {
	if min(l.used(), l.sizeOf(req)) >= l.window {
		return wire.Message{}, l.overflow(nil)
	}
	return l.call(ctx, req, l.emit)
}

// sizeOf is about how many tokens req has.
func (l *loop) sizeOf(req Request) int { return l.base() + estimateAll(req.Messages) }

// relieve sees to it that the call which failed with cause can be made again
// with less, or returns the error of it all.
func (l *loop) relieve(ctx context.Context, req Request, cause error, n int) error {
	var e *ModelError
	switch {
	case !errors.As(cause, &e):
	case e.Trouble == Overflow && n <= maxTries:
		return l.shorten(ctx, req, cause)
	case e.Trouble == Overflow:
		return l.overflow(cause)
	case e.Status == http.StatusRequestEntityTooLarge && l.body == 0:
		l.body = min(bytesOf(req), req.Model.Caps.OrCommon().Body) / 2
		return nil
	case e.Status == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w; the session is too large for this server: start a new one with 'new'", cause)
	}
	return cause
}

// shorten takes the server's word that req does not fit: the window is smaller
// than what was sent.
func (l *loop) shorten(ctx context.Context, req Request, cause error) error {
	sent := l.sizeOf(req)
	l.window = min(l.window, sent)
	switch err := l.compact(ctx, wire.CompactOverflow); {
	case err == nil:
		return nil
	case !errors.Is(err, errNothing):
		return err
	}
	l.shrunk = true // whatever the server has counted, this was too much
	if l.sizeOf(l.request()) >= sent {
		return l.overflow(cause)
	}
	return nil
}

// bytesOf is about how large a request is.
func bytesOf(req Request) int {
	n := len(req.System)
	for _, s := range req.Tools {
		n += len(s.Description) + len(s.Schema)
	}
	for _, m := range req.Messages {
		for _, p := range m.Content {
			n += len(p.Text) + len(p.Thinking) + len(p.ThinkingSignature) + len(p.Arguments) + len(p.Data)
		}
	}
	return n
}

// overBudget reports whether err is a limit's, which is told of in its own way.
func overBudget(err error) bool {
	var e *BudgetError
	return errors.As(err, &e)
}

// overflowed reports whether a server has said that a call does not fit.
func overflowed(err error) bool {
	var e *ModelError
	return errors.As(err, &e) && e.Trouble == Overflow
}

func (l *loop) overflow(cause error) error {
	text := "the session no longer fits the model's window of %d tokens; start a new one with 'new'"
	switch cut := cutPoint(l.history, 0); {
	case l.base() >= l.window:
		text = "the system prompt and the tools alone do not fit the model's window of %d tokens; choose a model with a larger window"
	case cut == 0, l.roomAt(cut) < leastSummary:
		text = "the newest message alone does not fit the model's window of %d tokens; send less at once, or choose a model with a larger window"
	}
	return &ModelError{Trouble: Overflow, Text: fmt.Sprintf(text, cmp.Or(l.Model.Window, unknownWindow)), Err: cause}
}
