package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mikan/wire"
)

// Compaction is a summary that takes the place of the beginning of a context.
type Compaction struct {
	Summary string
	Keep    int          // how many messages at the end of the context stay as they are
	Tokens  int          // what the context had until then
	Details wire.Details // the files that the summarized calls were about
	Paid    wire.Message // of the model's reply that the summary is: the model and the usage
}

// maxTries is how often a summary is asked for that is short enough, and how
// often a call that does not fit is made again.
const maxTries = 3

const (
	worthwhile   = 500 // tokens that a summary has to stand for
	leastSummary = 100 // tokens that there must be room for
)

// The ways in which a compaction comes to nothing.
var (
	errNothing = errors.New("there is nothing to compact yet")
	errSilent  = fmt.Errorf("the model gave no summary of the session in %d tries; start a new session with 'new', or choose another model", maxTries)
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
	l.unshelve()
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
// history stays as it is. No summary is asked for that cannot make room.
func (l *loop) compact(ctx context.Context, reason string) error {
	c := Compaction{Tokens: l.used()}
	keep := l.keep()
	if reason == wire.CompactManual {
		keep = min(maxKeep, estimateAll(l.history)/3)
	}
	why := errNothing
	for try := range maxTries {
		cut := cutPoint(l.history, keep>>try)
		if cut == 0 || estimateAll(l.history[:cut]) < min(worthwhile, l.limit()/8) {
			return errNothing
		}
		room := l.roomAt(cut)
		if room < leastSummary {
			continue
		}
		summary, reply, err := l.summarize(ctx, l.history[:cut], try)
		if err == nil && summary != "" {
			c.Keep, c.Details, c.Paid = len(l.history)-cut, touchedBy(l.history[:cut]).details(l.fileRoom()), bill(reply)
			c.Summary = withFiles(summary+putBack(l.history, cut)+tornRequest(l.history, cut), c.Details)
			if n := roughTokens(len(c.Summary)); n <= room && n < estimateAll(l.history[:cut]) {
				return l.replace(ctx, reason, c)
			}
		}
		l.lose(reply)
		switch {
		case err != nil && ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			if why = fmt.Errorf("compact the context: %w", err); !overflowed(err) {
				return why
			}
		case summary == "":
			why = errSilent
		default:
			why = errLong
		}
	}
	return why
}

// roomAt is how many tokens there are for a summary of what comes before cut. If
// no less can be kept, results are cut in the request, and the answer is short.
func (l *loop) roomAt(cut int) int {
	kept, most := l.history[cut:], l.limit()
	if cutPoint(l.history, 0) == cut {
		kept, most = cutResults(kept, smallestCut, false), l.window-l.reserve()/2
	}
	return most - l.base() - estimateAll(kept)
}

const requestHead = "\n\n## The request that is being worked on\n\n"

// tornRequest is the request that a cut tears off from the work on it, as an
// addition to the summary. An earlier cut may have torn it off already.
func tornRequest(msgs []wire.Message, cut int) string {
	if msgs[cut].Role == wire.User {
		return ""
	}
	for i := cut - 1; i >= 0; i-- {
		earlier, ok := wire.SummaryOf(msgs[i])
		switch {
		case msgs[i].Role == wire.User && !ok:
			return requestHead + Clip(lastText(msgs[i]), 4<<10)
		case ok:
			earlier = withoutFiles(earlier)
			if at := strings.LastIndex(earlier, requestHead); at >= 0 {
				return earlier[at:]
			}
		}
	}
	return ""
}

// lastText is the last text of m: of a prompt the part behind its notes.
func lastText(m wire.Message) (text string) {
	for _, p := range m.Content {
		if p.Type == wire.Text {
			text = p.Text
		}
	}
	return text
}

// replace commits a compaction and tells of it. A stop does not tear it in two.
func (l *loop) replace(ctx context.Context, reason string, c Compaction) error {
	if err := l.Store.Compact(context.WithoutCancel(ctx), c); err != nil {
		l.lose(c.Paid)
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
