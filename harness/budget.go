package harness

import (
	"context"
	"time"

	"mikan/wire"
)

// AutonomousLimits are those of a run that no person waits for, where nothing
// else is said.
var AutonomousLimits = Limits{Duration: 10 * time.Minute, Calls: 50, CostUSD: 10}

// Or returns l with the limits of other where l has none.
func (l Limits) Or(other Limits) Limits {
	if l.Tokens == 0 {
		l.Tokens = other.Tokens
	}
	if l.CostUSD == 0 {
		l.CostUSD = other.CostUSD
	}
	if l.Duration == 0 {
		l.Duration = other.Duration
	}
	if l.Calls == 0 {
		l.Calls = other.Calls
	}
	return l
}

// Left is the time until the first limit on the duration of m, or of a meter
// above it; ok is false if there is none.
func (m *Meter) Left() (left time.Duration, ok bool) {
	for ; m != nil; m = m.parent {
		if m.limits.Duration == 0 {
			continue
		}
		if d := m.limits.Duration - time.Since(m.began); !ok || d < left {
			left, ok = d, true
		}
	}
	return left, ok
}

// within returns a context that the meter ends when its time is up, whatever hangs
// then.
func (m *Meter) within(ctx context.Context) (context.Context, context.CancelFunc) {
	left, limited := m.Left()
	if !limited {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(left, func() { cancel(m.Check()) })
	return ctx, func() { timer.Stop(); cancel(nil) }
}

// maxUsage is more than one model call can use, and so little that no sum of it
// comes near the end of the numbers.
const maxUsage = 1 << 40

// bound makes what a server says of a call a number that can be: none below zero
// takes back what others have used.
func bound(u *wire.Usage) {
	for _, n := range []*int{&u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Total} {
		*n = min(max(*n, 0), maxUsage)
	}
}

// guess is what a call has used whose server does not say it.
func (l *loop) guess(reply wire.Message) (u wire.Usage) {
	if reply.PlainText() == "" && len(reply.Calls()) == 0 {
		return u // nothing came back
	}
	u.Input, u.Output = roughTokens(len(l.System)), Estimate(reply)
	for _, m := range l.history {
		u.Input += Estimate(m)
	}
	u.Total = u.Input + u.Output
	l.Model.Price.Cost(&u)
	return u
}

// exceeded is the event that tells of e.
func exceeded(e *BudgetError) wire.Event {
	return wire.Event{Type: wire.BudgetExceeded, Error: e.Reason, Budget: &wire.Budget{
		Reason: e.Reason, Tokens: e.Tokens, CostUSD: e.CostUSD, LLMCalls: e.Calls, DurationMS: e.Duration.Milliseconds(),
	}}
}
