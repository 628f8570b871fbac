package harness

import (
	"cmp"

	"mikan/wire"
)

// How a model's window is shared out, in tokens. Of a small window both are
// less, so that there is something left to work in.
const (
	maxReserve = 16_384 // for the answer, and for what the count does not know
	maxKeep    = 20_000 // of the newest messages stay as they are in a compaction

	unknownWindow = 128_000 // of a model that does not say
)

// reserve is how much of the window the context leaves free. The window is the
// model's, or what its server has shown it to be.
func (l *loop) reserve() int { return min(maxReserve, l.window/4) }

// limit is how many tokens the context may have.
func (l *loop) limit() int { return l.window - l.reserve() }

// keep is how many tokens of messages a compaction leaves as they are.
func (l *loop) keep() int { return min(maxKeep, max(0, l.limit()-l.base())/3) }

// fileRoom is how many bytes the names of files may take in a summary.
func (l *loop) fileRoom() int { return min(8<<10, l.limit()/2) }

// base is about what the system prompt and the tools take.
func (l *loop) base() int {
	tokens := roughTokens(len(l.System))
	for _, s := range l.specs {
		tokens += roughTokens(len(s.Name) + len(s.Description) + len(s.Schema))
	}
	return tokens
}

// used is how many tokens the context has: what the server has counted with the
// newest reply, and an estimate of what has come since. A request that was not
// sent in full says nothing of the whole.
func (l *loop) used() int {
	if !l.shrunk {
		for i := len(l.history) - 1; i >= 0; i-- {
			if n := counted(l.history[i]); n > 0 {
				return n + l.unshelved() + estimateAll(l.history[i+1:])
			}
		}
	}
	return l.base() + estimateAll(l.history)
}

// unshelved is about what the tools take that have come since the newest reply.
func (l *loop) unshelved() int {
	if l.sent == 0 {
		return 0
	}
	return max(0, l.base()-l.sent)
}

// counted is what a server says of the context that ends with m; 0 if it says
// nothing, as of a reply that broke off.
func counted(m wire.Message) int {
	if m.Usage == nil || m.StopReason == wire.StopError || m.StopReason == wire.StopAborted {
		return 0
	}
	return m.Usage.Input + m.Usage.CacheRead + m.Usage.CacheWrite + m.Usage.Output
}

func estimateAll(msgs []wire.Message) int {
	tokens := 0
	for _, m := range msgs {
		tokens += Estimate(m)
	}
	return tokens
}

// full reports whether the context is to be compacted before the next call. If
// the system prompt alone is too much, no compaction helps.
func (l *loop) full() bool {
	return l.used() > l.limit() && l.base() < l.limit() && l.grown()
}

// grown reports whether enough has come since the last compaction for another
// to be worth its price. A server that counts wrongly would have one after each
// reply otherwise; if it is right, it refuses the next call, and that counts.
func (l *loop) grown() bool {
	if len(l.history) == 0 {
		return false
	}
	if _, ok := wire.SummaryOf(l.history[0]); !ok {
		return true
	}
	for i, m := range l.history { // a compaction takes the counts of what it keeps
		if counted(m) > 0 {
			return estimateAll(l.history[i:]) >= l.limit()/16
		}
	}
	return true
}

// cutPoint returns the first place where msgs can be cut so that at most keep
// tokens come after it, or else the last place there is; 0 if there is none. No
// call is cut off from its results, and before the cut there is more than a
// summary.
func cutPoint(msgs []wire.Message, keep int) (cut int) {
	first := 1
	if len(msgs) > 0 {
		if _, ok := wire.SummaryOf(msgs[0]); ok {
			first = 2
		}
	}
	tokens, whole := 0, true // whole: what comes next is no result of an earlier call
	for i := len(msgs) - 1; i >= first; i-- {
		tokens += Estimate(msgs[i])
		switch msgs[i].Role {
		case wire.ToolResult:
			whole = false
		case wire.Assistant:
			whole = true
		}
		if !whole || cut != 0 && tokens > keep {
			continue
		}
		cut = i
	}
	return cut
}

// request is the next model call. What does not fit the window even now, both as
// the server counts and by the estimate, is shortened in it; the history keeps all.
func (l *loop) request() Request {
	l.unshelve()
	msgs := Repair(l.history)
	if over := min(l.used(), l.base()+estimateAll(msgs)) - l.limit(); over > 0 {
		msgs, l.shrunk = shrink(msgs, over)
	}
	m := l.Model
	if l.body > 0 {
		m.Caps.Body = l.body
	}
	return Request{m, l.System, msgs, l.specs, cmp.Or(l.Thinking, Levels[0]), l.Session}
}
