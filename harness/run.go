package harness

import (
	"context"
	"sync"
	"time"

	"mikan/wire"
)

// Store is a session's history as a run needs it.
type Store interface {
	// Context returns the messages that the model is to see. After a compaction
	// they are as [wire.Compacted] makes them, and what came later.
	Context(ctx context.Context) ([]wire.Message, error)
	// Compact commits a compaction before it returns. From then on Context begins
	// with its summary.
	Compact(ctx context.Context, c Compaction) error
	// Append commits messages to the history, all or none, before it returns.
	Append(ctx context.Context, msgs ...wire.Message) error
}

// Run is one prompt's answering. It is used once, and not copied.
type Run struct {
	Model    Model
	Provider Provider
	Thinking string // one of [Levels]; empty is off
	System   string
	Tools    []Tool
	Store    Store
	Session  string // [Request.Session]
	// Prompt is the user's message; it is appended before the first model call.
	// A run that is interrupted before its start leaves the history as it was; one
	// that is stopped before its start appends the prompt all the same.
	Prompt wire.Message
	// Steer returns messages that have come in for this run since the last
	// call. It is asked between the tools and the next model call, and once more
	// before the run would end. It may be nil.
	Steer func(ctx context.Context) []wire.Message
	// WantCompact reports whether someone has asked since the last call that the
	// context be compacted. It is asked before each model call. It may be nil.
	WantCompact func() bool
	Hooks       Hooks
	// Emit gets the events of the run, in order, on one goroutine at a time, and
	// none after Do has returned. It never blocks. It may be nil.
	Emit func(wire.Event)
	// Idle is how long a model may send nothing before its call counts as broken
	// off; 0 is 5 minutes.
	Idle time.Duration
	// Deadline is how long one model call may take with all its attempts and the
	// pauses between them, however much it sends; 0 is 30 minutes.
	Deadline time.Duration
	// Meter counts each attempt of a model call. A limit of it that is reached ends
	// the run before the next one; that of the duration ends it at once. It may be
	// nil: no limits.
	Meter *Meter

	left sync.WaitGroup // goroutines of tools and of the provider
}

// Wait returns when everything that the run started has come to its end. Do
// itself waits, except for a tool or a provider that is not done half a second
// after the run's context: those it leaves behind, and Wait waits for them.
func (r *Run) Wait() { r.left.Wait() }

// Ending is how a run ended.
type Ending struct {
	Outcome wire.Outcome
	// Final are the last messages of the run, not yet in the store: the answer,
	// the part of it that had come, or the results that close open tool calls.
	// The caller commits them together with what it records of the run's end, even
	// when the context is gone, and then emits their message_end. It may be empty.
	Final []wire.Message
	Err   error      // the reason, if Outcome is Failed or OverBudget
	Usage wire.Usage // of all model calls
	Calls int        // model calls, failed attempts among them
	// Lost are the attempts of model calls that are in no other message, with
	// nothing but the model and the usage, for whoever counts that.
	Lost []wire.Message
}
