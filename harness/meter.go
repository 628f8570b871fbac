package harness

import (
	"fmt"
	"sync"
	"time"

	"mikan/wire"
)

// Limits are what a run may use up; 0 is no limit.
type Limits struct {
	Tokens   int // of all four kinds
	CostUSD  float64
	Duration time.Duration
	Calls    int // model calls
}

// BudgetError says which limit ended a run.
type BudgetError struct {
	Reason   string // "50 LLM calls >= 50 limit"
	Tokens   int
	CostUSD  float64
	Calls    int
	Duration time.Duration
}

// Error is the reason.
func (e *BudgetError) Error() string { return e.Reason }

// Meter counts what a run uses up, against its limits. What a child's meter
// counts, its parent's counts too, so that a limit holds for all of a run's work
// together. A nil Meter counts nothing and has no limit.
type Meter struct {
	limits Limits
	parent *Meter
	began  time.Time

	mu    sync.Mutex
	usage wire.Usage
	calls int
}

// NewMeter makes a meter, whose time begins now. parent may be nil.
func NewMeter(limits Limits, parent *Meter) *Meter {
	return &Meter{limits: limits, parent: parent, began: time.Now()}
}

// Add counts a model call.
func (m *Meter) Add(u wire.Usage) {
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.usage.Add(u)
		m.calls++
		m.mu.Unlock()
	}
}

// Spent is what has been counted.
func (m *Meter) Spent() (u wire.Usage, calls int) {
	if m == nil {
		return u, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage, m.calls
}

// Check returns a [*BudgetError] when a limit of m, or of a meter above it, is
// reached.
func (m *Meter) Check() error {
	for ; m != nil; m = m.parent {
		u, calls := m.Spent()
		spent := time.Since(m.began)
		e := BudgetError{Tokens: u.Total, CostUSD: u.Cost.Total, Calls: calls, Duration: spent}
		switch l := m.limits; {
		case l.Tokens > 0 && u.Total >= l.Tokens:
			e.Reason = fmt.Sprintf("%d tokens >= %d limit", u.Total, l.Tokens)
		case l.CostUSD > 0 && u.Cost.Total >= l.CostUSD:
			e.Reason = fmt.Sprintf("cost %.4f USD >= %.4f USD limit", u.Cost.Total, l.CostUSD)
		case l.Duration > 0 && spent >= l.Duration:
			e.Reason = fmt.Sprintf("%dms >= %dms limit", spent.Milliseconds(), l.Duration.Milliseconds())
		case l.Calls > 0 && calls >= l.Calls:
			e.Reason = fmt.Sprintf("%d LLM calls >= %d limit", calls, l.Calls)
		default:
			continue
		}
		return &e
	}
	return nil
}
