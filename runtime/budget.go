package runtime

import (
	"errors"
	"fmt"
	"time"

	"mikan/harness"
)

// Budget is what one run may use up. What is not set is not limited, except in a
// run that no person waits for: see [harness.AutonomousLimits].
type Budget struct {
	Tokens     *int     `json:"tokens,omitempty"` // of all four kinds
	CostUSD    *float64 `json:"costUsd,omitempty"`
	DurationMS *int     `json:"durationMs,omitempty"`
	Calls      *int     `json:"calls,omitempty"` // of the model
}

// over is base with what b sets in its place.
func (b Budget) over(base Budget) Budget {
	setTo(&base.Tokens, b.Tokens)
	setTo(&base.CostUSD, b.CostUSD)
	setTo(&base.DurationMS, b.DurationMS)
	setTo(&base.Calls, b.Calls)
	return base
}

func setTo[T any](to **T, value *T) {
	if value != nil {
		*to = value
	}
}

var (
	errNoLimit = errors.New("want a number above 0; leave it out for no limit")
	errTooLong = fmt.Errorf("want at most %d, a year; leave it out for no limit", maxDuration)
)

// check returns the first key whose value limits nothing.
func (b Budget) check() (key string, err error) {
	for _, c := range []struct {
		key string
		bad bool
	}{
		{"budget.tokens", b.Tokens != nil && *b.Tokens <= 0},
		{"budget.costUsd", b.CostUSD != nil && *b.CostUSD <= 0},
		{"budget.durationMs", b.DurationMS != nil && *b.DurationMS <= 0},
		{"budget.calls", b.Calls != nil && *b.Calls <= 0},
	} {
		if c.bad {
			return c.key, errNoLimit
		}
	}
	if value(b.DurationMS) > maxDuration {
		return "budget.durationMs", errTooLong
	}
	return "", nil
}

// maxDuration is a year of milliseconds.
const maxDuration = 365 * 24 * 3600 * 1000

// limits are those of a run; autonomous is one that no person waits for.
func (b Budget) limits(autonomous bool) harness.Limits {
	l := harness.Limits{
		Tokens: value(b.Tokens), CostUSD: value(b.CostUSD), Calls: value(b.Calls),
		Duration: time.Duration(value(b.DurationMS)) * time.Millisecond,
	}
	if autonomous {
		l = l.Or(harness.AutonomousLimits)
	}
	return l
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
