package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	kept     = "ok"
	miss     = "miss"
	unjudged = "-"
)

// row is a line of the table.
type row struct {
	path, ours, peer, who, ratio, budget, verdict string
}

func verdict(ok bool) string {
	if ok {
		return kept
	}
	return miss
}

// speed adds a row in which ours may take no longer than the peer divided by
// atLeast.
func (w *world) speed(path, who string, d dueled, atLeast float64) {
	ratio := 1 / d.ratio
	w.rows = append(w.rows, row{path, show(d.ours), show(d.peer), who,
		by(ratio), fmt.Sprintf("speed >= %.1f", atLeast), verdict(ratio >= atLeast)})
}

// cost adds a row in which ours may take at most so many times what the peer
// takes. A budget of 0 judges nothing.
func (w *world) cost(path, who string, d dueled, atMost float64) {
	r := row{path, show(d.ours), show(d.peer), who, by(d.ratio), "-", unjudged}
	if atMost > 0 {
		r.budget, r.verdict = fmt.Sprintf("time <= %g", atMost), verdict(d.ratio <= atMost)
	}
	w.rows = append(w.rows, r)
}

// limit adds a row with a limit of its own. The peer is there to look at.
func (w *world) limit(path, who string, d dueled, own, atMost time.Duration) {
	w.rows = append(w.rows, row{path, show(d.ours), show(d.peer), who,
		by(d.ratio), "own <= " + show(atMost), verdict(own <= atMost)})
}

// size adds a row about memory.
func (w *world) size(path string, ours, atMost float64, unit string) {
	w.rows = append(w.rows, row{path, fmt.Sprintf("%.1f %s", ours, unit), "", "",
		"", fmt.Sprintf("<= %g %s", atMost, unit), verdict(ours <= atMost)})
}

// show is a duration with three digits.
func show(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/1e3)
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%.3g s", d.Seconds())
}

// dueled is how two did the same.
type dueled struct {
	ours, peer time.Duration
	ratio      float64 // ours by peer, the median of the rounds'
}

// duel lets two take turns and returns the medians.
func duel(rounds int, ours, peer func() (time.Duration, error)) (dueled, error) {
	var mine, theirs []time.Duration
	var ratios []float64
	for n := range rounds {
		first, second := ours, peer
		if n%2 == 1 {
			first, second = peer, ours
		}
		a, err := first()
		if err != nil {
			return dueled{}, err
		}
		b, err := second()
		if err != nil {
			return dueled{}, err
		}
		if n%2 == 1 {
			a, b = b, a
		}
		mine, theirs = append(mine, a), append(theirs, b)
		ratios = append(ratios, float64(a)/float64(b))
	}
	return dueled{percentile(mine, 50), percentile(theirs, 50), percentile(ratios, 50)}, nil
}

// by is a ratio to look at.
func by(ratio float64) string {
	if ratio < 0.01 {
		return "< 0.01"
	}
	return fmt.Sprintf("%.2f", ratio)
}

// compared is a duel between two samples that were taken already.
func compared(ours, peer time.Duration) dueled {
	return dueled{ours, peer, float64(ours) / float64(peer)}
}

// percentile sorts list.
func percentile[T time.Duration | float64](list []T, p int) T {
	slices.Sort(list)
	return list[min(len(list)*p/100, len(list)-1)]
}

// timed returns how long do took, each of n times.
func timed(n int, do func() error) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := do(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(n), nil
}

// times is n in earnest and less for a look.
func (w *world) times(n int) int {
	if w.smoke {
		return max(1, n/50)
	}
	return n
}
