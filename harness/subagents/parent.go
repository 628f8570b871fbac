package subagents

import (
	"context"

	"mikan/harness"
	"mikan/wire"
)

// Brain is a model and the way to it.
type Brain struct {
	Model    harness.Model
	Provider harness.Provider
	Thinking string // one of [harness.Levels]; empty: the profile's
}

// Parent is the run for which subagents work, as they need it.
type Parent struct {
	Brain Brain
	// Choose finds the model that a profile names, provider/model[:level].
	Choose func(ctx context.Context, ref string) (Brain, error)
	// Profiles reads the profiles. It is called once a call.
	Profiles func() []Profile
	// Tools are what a subagent can have, the tools of its profile among them.
	Tools []harness.Tool
	Dir   string // the working directory
	// Hooks are asked about the calls of subagents, too; Start is not.
	Hooks harness.Hooks
	// Meter counts the subagents' work with the parent's, and its limits end both.
	Meter *harness.Meter
	// History returns the parent's messages so far.
	History func() []wire.Message
	// Spent counts, where it lasts, what a message of a subagent cost.
	Spent func(ctx context.Context, m wire.Message) error
	// Session is [harness.Request.Session], to which each run's id is added.
	Session string
	Slots   Slots
	// Spawn runs f on a goroutine that someone waits for; it reports false, and
	// runs nothing, when it is too late for that.
	Spawn func(f func()) bool
}

// tool returns the parent's tool with a name.
func (p Parent) tool(name string) (harness.Tool, bool) {
	for _, t := range p.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return harness.Tool{}, false
}
