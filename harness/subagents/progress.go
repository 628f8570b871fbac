package subagents

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"mikan/wire"
)

const (
	progressEvery = 2 * time.Second
	maxActivity   = 80  // characters
	maxReason     = 240 // characters
)

// reporter tells the parent's run, now and then, where the subagents of a call
// stand.
type reporter struct {
	tell func(string)

	mu    sync.Mutex
	lines []line
	last  time.Time
	timer *time.Timer // of the report that is due
	over  bool
}

// line is what is told of one subagent.
type line struct {
	name     string
	status   Status
	activity string
	reason   string
}

func newReporter(steps []step, tell func(string)) *reporter {
	r := &reporter{tell: tell, lines: make([]line, len(steps))}
	for i, s := range steps {
		r.lines[i] = line{name: oneLine(s.name(i), maxLabel), status: Pending}
	}
	return r
}

// set changes what is told of a subagent, and tells it if that is due.
func (r *reporter) set(i int, change func(*line)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.lines[i])
	if r.over || r.timer != nil {
		return
	}
	if wait := progressEvery - time.Since(r.last); wait > 0 {
		r.timer = time.AfterFunc(wait, r.due)
		return
	}
	r.report()
}

func (r *reporter) due() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.timer = nil; !r.over {
		r.report()
	}
}

// report is called with mu held: reports come one after the other, and none
// after stop.
func (r *reporter) report() {
	r.last = time.Now()
	var b strings.Builder
	for _, l := range r.lines {
		fmt.Fprintf(&b, "%s: %s", l.name, l.status)
		switch {
		case l.reason != "":
			b.WriteString(" (" + oneLine(l.reason, maxReason) + ")")
		case l.status == Running && l.activity != "":
			b.WriteString(", " + oneLine(l.activity, maxActivity))
		}
		b.WriteByte('\n')
	}
	r.tell(b.String())
}

// stop ends the reports.
func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// event notes what a subagent does.
func (r *reporter) event(i int, e wire.Event) {
	switch e.Type {
	case wire.TurnStart:
		r.set(i, func(l *line) { l.activity = "thinking" })
	case wire.ToolCalled:
		r.set(i, func(l *line) { l.activity = e.Label })
	case wire.AgentError:
		r.set(i, func(l *line) { l.activity = e.Error })
	}
}

// oneLine is s on one line, of at most n characters.
func oneLine(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
