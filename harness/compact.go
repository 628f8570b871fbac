package harness

import (
	"context"
	"errors"
	"fmt"

	"mikan/wire"
)

// Compaction is a summary that takes the place of the beginning of a context.
type Compaction struct {
	Summary string
	Keep    int          // how many messages at the end of the context stay as they are
	Tokens  int          // what the context had until then
	Details wire.Details // the files that the summarized calls were about
	Paid    wire.Message // the model's replies that the summary cost: whose they are, and their usage
}

// maxTries is how often a summary is asked for that is short enough, and how
// often a call that does not fit is made again.
const maxTries = 3

// worthwhile is how many tokens a summary has to stand for.
const worthwhile = 500

// The ways in which a compaction comes to nothing.
var (
	errNothing = errors.New("there is nothing to compact yet")
	errLong    = fmt.Errorf("the session's summary did not become short enough in %d tries; start a new session with 'new', or choose a model with a larger window", maxTries)
)

// Compact puts a summary in the place of all but the newest part of the context,
// without a prompt; the run is used up by it. The ending has no last messages.
func (r *Run) Compact(ctx context.Context) Ending {
	l := newLoop(r)
	defer l.silence()
	ctx, cancel := r.Meter.within(ctx)
	defer cancel()
	err := l.load(ctx)
	if err == nil {
		err = l.compact(ctx, wire.CompactManual)
	}
	l.end(ctx, l.tell(ctx, err))
	return l.ending
}

// makeRoom compacts the context before a call, if it is nearly full or someone
// wants it. What only someone wanted does not end the run if it comes to nothing.
// A limit that is reached by then is the error.
func (l *loop) makeRoom(ctx context.Context) error {
	if l.WantCompact != nil && l.WantCompact() {
		if err := l.tell(ctx, l.compact(ctx, wire.CompactManual)); ctx.Err() != nil || overBudget(err) {
			return err
		}
	}
	if l.full() {
		// Without anything to compact, what does not fit is shortened in the request.
		if err := l.compact(ctx, wire.CompactThreshold); err != nil && !errors.Is(err, errNothing) {
			return l.tell(ctx, err)
		}
	}
	return l.Meter.Check()
}

// tell tells of err, unless it is told of in another way, and returns it.
func (l *loop) tell(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil && !overBudget(err) {
		l.emit(wire.Event{Type: wire.AgentError, Error: err.Error()})
	}
	return err
}

// compact makes a compaction and goes on with what it leaves. Without one the
// history stays as it is.
func (l *loop) compact(ctx context.Context, reason string) error {
	c := Compaction{Tokens: l.used()}
	keep := l.keep()
	if reason == wire.CompactManual {
		keep = min(maxKeep, estimateAll(l.history)/3)
	}
	for try := range maxTries {
		cut := cutPoint(l.history, keep>>try)
		if cut == 0 || estimateAll(l.history[:cut]) < min(worthwhile, l.limit()/8) {
			return errNothing
		}
		summary, reply, err := l.summarize(ctx, l.history[:cut], try)
		c.pay(reply)
		switch {
		case overflowed(err):
			continue
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("compact the context: %w", err)
		}
		c.Keep, c.Details = len(l.history)-cut, touchedBy(l.history[:cut]).details()
		c.Summary = withFiles(summary+tornRequest(l.history, cut), c.Details)
		if summary != "" && l.fits(c.Summary, cut) {
			return l.replace(ctx, reason, c)
		}
	}
	return errLong
}

// pay counts what a summary has cost.
func (c *Compaction) pay(reply wire.Message) {
	if c.Paid.Usage == nil {
		c.Paid = wire.Message{API: reply.API, Provider: reply.Provider, Model: reply.Model, Usage: &wire.Usage{}}
	}
	if reply.Usage != nil {
		c.Paid.Usage.Add(*reply.Usage)
	}
}

// fits reports whether the summary is shorter than what it stands for and leaves
// room for what is kept, shortened in the request if that cannot be less.
func (l *loop) fits(summary string, cut int) bool {
	tokens := roughTokens(len(summary))
	if tokens >= estimateAll(l.history[:cut]) {
		return false
	}
	kept := l.history[cut:]
	if cutPoint(l.history, 0) == cut {
		kept = cutResults(kept, smallestCut, false)
	}
	return l.base()+tokens+estimateAll(kept) <= l.limit()
}

// tornRequest is the request that a cut tears off from the work on it, as an
// addition to the summary.
func tornRequest(msgs []wire.Message, cut int) string {
	if msgs[cut].Role == wire.User {
		return ""
	}
	for i := cut - 1; i >= 0; i-- {
		if _, ok := wire.SummaryOf(msgs[i]); msgs[i].Role == wire.User && !ok {
			return "\n\n## The request that is being worked on\n\n" + Clip(msgs[i].PlainText(), 4<<10)
		}
	}
	return ""
}

// replace commits a compaction and tells of it. A stop does not tear it in two.
func (l *loop) replace(ctx context.Context, reason string, c Compaction) error {
	if err := l.Store.Compact(context.WithoutCancel(ctx), c); err != nil {
		return fmt.Errorf("save the compaction: %w", err)
	}
	l.history = nil
	if err := l.load(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	l.shrunk = false
	l.emit(wire.Event{Type: wire.SessionCompact, Reason: reason, Tokens: c.Tokens, Text: c.Summary, Usage: c.Paid.Usage})
	return nil
}
