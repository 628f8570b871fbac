package subagents

import (
	"cmp"
	"time"

	"mikan/harness"
)

// The bounds of a request.
const (
	maxTasks        = 8 // in one call, nodes of a graph too
	maxEdges        = 16
	maxDepth        = 4   // nodes of the longest chain
	maxProfile      = 64  // characters
	maxTools        = 128 // of a profile
	maxLabel        = 100 // characters
	maxRecentTurns  = 8
	recentTurns     = 3    // if not said
	maxDependency   = 4000 // characters of a result that another task gets
	maxOutputSchema = 16 << 10
	maxSchemaDepth  = 64
	maxPatterns     = 256      // bytes of all of a schema
	maxOutput       = 64 << 10 // bytes of a final text that a schema is for
)

const (
	perCall   = 4 // subagents of one call that work at once
	perDaemon = 8 // of all
)

// Default is what a subagent may use up if its profile does not say less.
var Default = harness.Limits{Calls: 100, Tokens: 1_000_000, CostUSD: 10, Duration: 10 * time.Minute}

// Combine is what a subagent may use up whose profile and request both say
// something: the less of turns, cost and time, and the more of tokens.
func Combine(profile, request harness.Limits) harness.Limits {
	return harness.Limits{
		Calls:    less(profile.Calls, request.Calls),
		CostUSD:  less(profile.CostUSD, request.CostUSD),
		Duration: less(profile.Duration, request.Duration),
		Tokens:   max(profile.Tokens, request.Tokens),
	}
}

// less is the lower of two limits, of which 0 is none.
func less[T cmp.Ordered](a, b T) T {
	var none T
	if a == none || b == none {
		return max(a, b)
	}
	return min(a, b)
}

// Slots bounds how many subagents of the whole daemon work at once.
type Slots chan struct{}

// NewSlots makes the slots of a daemon.
func NewSlots() Slots { return make(Slots, perDaemon) }
