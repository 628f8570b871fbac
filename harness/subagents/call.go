package subagents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mikan/wire"
)

// call is one call of the tool.
type call struct {
	Parent
	steps    []step
	profiles []Profile // of the steps
	history  []wire.Message
	progress *reporter
}

// newCall checks what only the parent knows: that the profiles are there.
func newCall(p Parent, steps []step, progress func(string)) (*call, error) {
	c := &call{Parent: p, steps: steps, progress: newReporter(steps, progress)}
	list := p.Profiles()
	for _, s := range steps {
		i := 0
		for i < len(list) && list[i].Name != s.profile {
			i++
		}
		if i == len(list) {
			return nil, fmt.Errorf("there is no profile %q%s; the profiles are %s", s.profile, wire.DidYouMean(s.profile, strings.Split(names(list), ", ")), names(list))
		}
		c.profiles = append(c.profiles, list[i])
		if s.turns > 0 && c.history == nil {
			c.history = p.History()
		}
	}
	return c, nil
}

// finished is the end of the nth step.
type finished struct {
	i      int
	result Result
}

// do runs the steps, each when those that it needs have completed, and returns a
// result for each. It waits for no more than the time of grace after ctx is done.
func (c *call) do(ctx context.Context) []Result {
	defer c.progress.stop()
	late, stop := lateness(ctx)
	defer stop()
	results := make([]Result, len(c.steps))
	children := make([]*child, len(c.steps))
	for i := range c.steps {
		children[i] = c.newChild(i)
		results[i] = children[i].result
	}
	done := make(chan finished, len(c.steps))
	for running := 0; ; {
		for i := 0; i < len(children); i++ {
			if results[i].Status != Pending {
				continue
			}
			switch next, why := c.next(ctx, i, results); {
			case next == Skipped || next == Cancelled:
				results[i] = children[i].end(next, why)
				i = -1 // what needs it stands anywhere
			case next == Running && running < perCall:
				running++
				results[i].Status = Running
				c.start(ctx, children[i], c.given(i, results), done)
			}
		}
		if running == 0 {
			return results
		}
		select {
		case f := <-done:
			running--
			results[f.i] = f.result
		case <-late.Done():
			return abandoned(results, context.Cause(ctx))
		}
	}
}

// next says what is to become of a step that is pending: it may run, stay
// pending, or not run at all.
func (c *call) next(ctx context.Context, i int, results []Result) (Status, error) {
	next := Running
	for _, n := range c.steps[i].needs {
		switch s := results[n].Status; s {
		case Completed:
		case Pending, Running:
			next = Pending
		default:
			return Skipped, fmt.Errorf("it needs the result of %s, which is %s", c.steps[n].id, s)
		}
	}
	if ctx.Err() != nil {
		return Cancelled, context.Cause(ctx)
	}
	return next, nil
}

var errEnding = errors.New("the daemon is ending")

// start runs a subagent on a goroutine of the parent's owner.
func (c *call) start(ctx context.Context, k *child, given string, done chan<- finished) {
	ok := c.Spawn(func() {
		r, left := k.work(ctx, given)
		done <- finished{k.i, r}
		left()
	})
	if !ok {
		done <- finished{k.i, k.end(Cancelled, errEnding)}
	}
}

// given is what a step gets of the results that it needs.
func (c *call) given(i int, results []Result) string {
	var parts []string
	for _, n := range c.steps[i].needs {
		parts = append(parts, fmt.Sprintf("Result of %s:\n%s", c.steps[n].id, clip(results[n].Text, maxDependency)))
	}
	return strings.Join(parts, "\n\n")
}

// abandoned closes the results of subagents that are not waited for any more.
func abandoned(results []Result, cause error) []Result {
	for i := range results {
		switch results[i].Status {
		case Running:
			results[i].CleanupPending = true
			fallthrough
		case Pending:
			results[i].Status, results[i].Error = Cancelled, oneLine(cause.Error(), maxReason)
		}
	}
	return results
}

// lateness returns a context that is done when ctx has been done for the time of
// grace.
func lateness(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}
