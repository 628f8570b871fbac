package harness

import (
	"context"
	"fmt"

	"mikan/wire"
)

// Hooks may change or refuse what a run does. Each may be nil, is called on a
// goroutine of the run and returns soon after its context is done. An error
// refuses; its text is the reason that the model or the user is given. What a
// hook leaves as it is stays as it is.
type Hooks struct {
	// Start sees the prompt and the system prompt before anything is stored or
	// sent. Refused, the run fails and leaves nothing in the history.
	Start func(ctx context.Context, s *Start) error
	// Call sees a tool call before it runs. It may replace the arguments, with
	// which the tool is then called; the history keeps the model's own. Refused,
	// the call's result is the reason.
	Call func(ctx context.Context, call *wire.Part) error
	// Result sees a tool call's result before anyone else does. Refused, the
	// reason takes its place.
	Result func(ctx context.Context, call wire.Part, result *wire.Message) error
	// Holds reports whether someone may change or withhold results. Then nobody is
	// shown a tool's output before that, as progress.
	Holds func() bool
}

// holds reports whether output must wait for its hook.
func (l *loop) holds() bool { return l.Hooks.Holds != nil && l.Hooks.Holds() }

// Start is what a run begins with.
type Start struct {
	Prompt string // the text that the user wrote
	System string
}

// HookError is the error of a run that a hook did not let begin.
type HookError struct{ Reason string }

// Error says that the run was refused, and why.
func (e *HookError) Error() string { return fmt.Sprintf("refused before it began: %s", e.Reason) }

// start lets the hook see the prompt, which is the last text of its message.
func (l *loop) hookStart(ctx context.Context) error {
	if l.Hooks.Start == nil {
		return nil
	}
	at := -1
	for i, p := range l.Prompt.Content {
		if p.Type == wire.Text {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	text := l.Prompt.Content[at].Text
	s := Start{Prompt: Unprefixed(text), System: l.System}
	prefix := text[:len(text)-len(s.Prompt)]
	if err := l.Hooks.Start(ctx, &s); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &HookError{err.Error()}
	}
	l.Prompt.Content[at].Text, l.System = prefix+s.Prompt, s.System
	return nil
}

// use runs a tool call between its hooks.
func (l *loop) use(ctx context.Context, t Tool, c wire.Part, progress func(string)) wire.Message {
	c.Arguments = named(t.Schema, c.Arguments)
	asked := c
	if l.Hooks.Call != nil {
		if err := l.Hooks.Call(ctx, &asked); err != nil {
			return failure(c, "refused: "+err.Error())
		}
	}
	result, err := run(withCall(ctx, c.ID), t, asked.Arguments, progress)
	m := toolResult(c, result, err)
	if l.Hooks.Result != nil {
		if err := l.Hooks.Result(ctx, c, &m); err != nil {
			return failure(c, "withheld: "+err.Error())
		}
	}
	l.fit(ctx, &m)
	return m
}
