package harness

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"mikan/wire"
)

// What the guard looks at, and from which count of the same call in a row on it
// does what.
const (
	guardWindow  = 64 // calls
	noticeRepeat = 3
	blockRepeat  = 5
	stopRepeat   = 10

	minPeriod    = 2 // of a cycle
	maxPeriod    = 6
	noticeCycles = 3 // repetitions of one; again whenever they have doubled
)

// guard finds a run that goes round in circles: the same call again and again, or
// the same few in turn. Two calls are the same if the tool and the arguments are,
// whatever the label says. The zero guard is a run that has made no call.
type guard struct {
	seen []callKey // the newest calls, oldest first
	same int       // how often the last of them has been made in a row
}

type callKey [sha256.Size]byte

// ruling is what the guard says of one call; without a word the call is good.
type ruling struct {
	notice string // to be added to the result
	block  string // why the call is not to be run
	stop   string // why the run is to end; the call is then blocked too
}

// judge counts a call.
func (g *guard) judge(c wire.Part) ruling {
	k := keyOf(c)
	if n := len(g.seen); n == 0 || g.seen[n-1] != k {
		g.same = 0
	}
	g.same++
	g.seen = append(g.seen, k)
	g.seen = g.seen[max(0, len(g.seen)-guardWindow):]
	switch {
	case g.same >= stopRepeat:
		return ruling{
			block: fmt.Sprintf("not run: this is the same call for the %dth time in a row", g.same),
			stop:  fmt.Sprintf("the model made the same call of %s %d times in a row; ask in other words, or for a smaller step", c.Name, g.same),
		}
	case g.same >= blockRepeat:
		return ruling{block: fmt.Sprintf("not run: this is the same call for the %dth time in a row, and it will not be run again; do something else, or say what is in the way", g.same)}
	case g.same == noticeRepeat:
		return ruling{notice: fmt.Sprintf("[Notice: this call has been made %d times in a row. If its result does not help, do something else.]", g.same)}
	}
	if period, times := g.cycle(); times > 0 {
		return ruling{notice: fmt.Sprintf("[Notice: the last %d calls have been made %d times in the same order. If this leads nowhere, do something else.]", period, times)}
	}
	return ruling{}
}

// cycle is the shortest cycle that the calls end in, if it has now been gone
// through often enough for a notice.
func (g *guard) cycle() (period, times int) {
	for p := minPeriod; p <= maxPeriod; p++ {
		if g.composite(p) {
			continue
		}
		if long := p + g.echo(p); long%p == 0 && noticeable(long/p) {
			return p, long / p
		}
	}
	return 0, 0
}

// noticeable reports whether n repetitions are worth a notice: 3, 6, 12, …
func noticeable(n int) bool {
	for n > noticeCycles && n%2 == 0 {
		n /= 2
	}
	return n == noticeCycles
}

// echo is how many calls at the end are the same as those p before them.
func (g *guard) echo(p int) int {
	n := 0
	for i := len(g.seen) - 1; i >= p && g.seen[i] == g.seen[i-p]; i-- {
		n++
	}
	return n
}

// composite reports whether the last p calls are a shorter cycle, repeated.
func (g *guard) composite(p int) bool {
	if len(g.seen) < p {
		return false
	}
	last := g.seen[len(g.seen)-p:]
	for q := 1; q < p; q++ {
		if p%q == 0 && slices.Equal(last[q:], last[:p-q]) {
			return true
		}
	}
	return false
}

// keyOf is the same for two calls that do the same.
func keyOf(c wire.Part) callKey {
	args := []byte(c.Arguments)
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if d.Decode(&fields) == nil {
		delete(fields, "label")
		if plain, err := json.Marshal(fields); err == nil {
			args = plain
		}
	}
	return sha256.Sum256(slices.Concat([]byte(c.Name), []byte{0}, args))
}

// rulings are what the guard says of the calls of one reply.
type rulings struct {
	notices map[string]string // by call id
	stop    string
}

// guardCalls judges the calls of one reply. What is blocked it adds to unfit.
func (l *loop) guardCalls(calls []wire.Part, unfit map[string]string) rulings {
	r := rulings{notices: map[string]string{}}
	for _, c := range calls {
		v := l.guard.judge(c)
		if v.block != "" && unfit[c.ID] == "" {
			unfit[c.ID] = v.block
		}
		r.notices[c.ID] = v.notice
		if r.stop == "" {
			r.stop = v.stop
		}
	}
	return r
}

// tell adds the notices to the results.
func (r rulings) tell(results []wire.Message) {
	for i, m := range results {
		if notice := r.notices[m.ToolCallID]; notice != "" {
			results[i].Content = addText(m.Content, notice)
		}
	}
}
