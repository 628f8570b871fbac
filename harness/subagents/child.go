package subagents

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"mikan/harness"
	"mikan/wire"
)

// grace is how long what was told to end is waited for.
const grace = 100 * time.Millisecond

var errTime = errors.New("its time was up")

// child is one subagent at work.
type child struct {
	*call
	i       int // its place among the steps of the call
	step    step
	profile Profile
	tools   []harness.Tool
	result  Result
}

// newChild prepares the nth step of a call. A tool that its profile has and the
// parent has not is left out.
func (c *call) newChild(i int) *child {
	s := c.steps[i]
	k := &child{call: c, i: i, step: s, profile: c.profiles[i], result: Result{ID: s.id, Label: s.label, Status: Pending}}
	for _, name := range k.profile.Tools {
		if t, ok := c.tool(name); ok {
			k.tools = append(k.tools, t)
		} else {
			k.result.Notes = append(k.result.Notes, fmt.Sprintf("the profile %s names the tool %s, which a subagent cannot have here", s.profile, name))
		}
	}
	return k
}

// work does the task, with what it is given of other tasks' results. left ends
// when everything has that the subagent started; until then it has its slot.
func (k *child) work(ctx context.Context, given string) (r Result, left func()) {
	nothing := func() {}
	select {
	case k.Slots <- struct{}{}:
	case <-ctx.Done():
		return k.end(Cancelled, context.Cause(ctx)), nothing
	}
	free := func() { <-k.Slots }
	b, err := k.brain(ctx)
	if err != nil {
		free()
		return k.end(Failed, err), nothing
	}
	began := time.Now()
	k.result.RunID, k.result.Status = rand.Text(), Running
	k.result.Model = Model{b.Model.Provider, b.Model.ID}
	limits := k.step.limits(k.profile)
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Duration, errTime)
	defer cancel()
	limits.Duration = 0 // the context keeps it
	store := &memory{spent: k.Spent}
	run := k.run(b, limits, store, given)
	k.progress.set(k.i, func(l *line) { l.status = Running })
	end := run.Do(ctx)
	k.result.DurationMS = time.Since(began).Milliseconds()
	k.judge(ctx, end)
	if err := store.close(context.WithoutCancel(ctx), end); err != nil {
		k.result.Notes = append(k.result.Notes, "not all that it cost is counted: "+err.Error())
	}
	ended := make(chan struct{})
	go func() { run.Wait(); close(ended) }() // left waits for it
	select {
	case <-ended:
	case <-time.After(grace):
		k.result.CleanupPending = true
	}
	return k.result, func() { <-ended; free() }
}

func (k *child) brain(ctx context.Context) (Brain, error) {
	b := k.Brain
	if ref := k.profile.Model; ref != "" {
		var err error
		if b, err = k.Choose(ctx, ref); err != nil {
			return b, fmt.Errorf("the model of the profile %s: %w", k.profile.Name, err)
		}
	} else {
		b.Thinking = ""
	}
	if b.Thinking == "" {
		b.Thinking = k.profile.Thinking
	}
	return b, nil
}

func (k *child) run(b Brain, limits harness.Limits, store harness.Store, given string) *harness.Run {
	return &harness.Run{
		Model: b.Model, Provider: b.Provider, Thinking: b.Thinking,
		System: k.profile.system(k.Dir), Tools: k.tools, Store: store,
		Session: k.Session + "/" + k.result.RunID,
		Prompt: wire.Message{
			Role:      wire.User,
			Content:   []wire.Part{wire.TextPart(harness.UserText(time.Now(), "agent", "", k.prompt(given)))},
			Timestamp: time.Now().UnixMilli(),
		},
		Hooks: harness.Hooks{Call: k.Hooks.Call, Result: k.Hooks.Result, Holds: k.Hooks.Holds},
		Meter: harness.NewMeter(limits, k.Meter),
		Emit:  k.event,
	}
}

// event counts what the subagent does, and tells of it.
func (k *child) event(e wire.Event) {
	switch e.Type {
	case wire.TurnStart:
		k.result.Turns++
	case wire.ToolCalled:
		k.result.ToolCalls++
		if _, known := k.tool(e.Name); known {
			if k.result.ToolCallCounts == nil {
				k.result.ToolCallCounts = map[string]int{}
			}
			k.result.ToolCallCounts[e.Name]++
		}
	}
	k.progress.event(k.i, e)
}

// prompt is the task with all that goes with it.
func (k *child) prompt(given string) string {
	var parts []string
	if k.step.turns > 0 {
		if text := normalized(k.history, k.step.turns); text != "" {
			parts = append(parts, "The end of the conversation that this task comes from, for reference:\n\n"+text, "Your task:")
		}
	}
	parts = append(parts, k.step.task)
	if k.step.input != "" {
		parts = append(parts, "Input:\n"+k.step.input)
	}
	if given != "" {
		parts = append(parts, given)
	}
	if k.step.shape != "" {
		parts = append(parts, "Your final message must be exactly one JSON value that fits this JSON Schema, with no word and no code fence around it:\n"+k.step.shape)
	}
	return strings.Join(parts, "\n\n")
}
