package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mikan/wire"
)

// parallel is how many tool calls of one reply run at once.
const parallel = 8

// answer is the result of the tool call with number i.
type answer struct {
	i       int
	message wire.Message
}

// work runs the tool calls of one reply and returns exactly one result for
// each, in the order of the calls. unfit says, by call id, why a call cannot be
// run. When ctx is done no further call starts, and one that does not end soon
// is left behind.
func (l *loop) work(ctx context.Context, calls []wire.Part, unfit map[string]string) []wire.Message {
	late, stop := lateness(ctx)
	defer stop()
	results := make([]wire.Message, len(calls))
	done := make(chan answer, len(calls))
	for started, running := 0, 0; ; {
		for started < len(calls) && running < parallel && ctx.Err() == nil {
			l.start(ctx, started, calls[started], unfit, done)
			started, running = started+1, running+1
		}
		if running == 0 {
			l.close(ctx, results, calls, started)
			return results
		}
		select {
		case a := <-done:
			running--
			results[a.i] = a.message
			l.emit(returned(a.message))
		case <-late.Done():
			l.close(ctx, results, calls, started)
			return results
		}
	}
}

// start runs one call on a goroutine of the run.
func (l *loop) start(ctx context.Context, i int, c wire.Part, unfit map[string]string, done chan<- answer) {
	l.emit(wire.Event{Type: wire.ToolCalled, Name: c.Name, Call: c.ID, Label: label(c), Args: c.Arguments})
	if why := unfit[c.ID]; why != "" {
		done <- answer{i, failure(c, why)}
		return
	}
	tool, ok := l.tools[c.Name]
	if !ok {
		done <- answer{i, failure(c, l.unknown(c.Name))}
		return
	}
	progress := func(s string) {
		if l.holds() {
			s = ""
		}
		l.emit(wire.Event{Type: wire.ToolProgress, Name: c.Name, Call: c.ID, Text: s})
	}
	l.left.Go(func() {
		done <- answer{i, l.use(ctx, tool, c, progress)}
	})
}

// close gives a result to the calls that have none, of which the first started
// ones were started.
func (l *loop) close(ctx context.Context, results []wire.Message, calls []wire.Part, started int) {
	for i, c := range calls {
		if results[i].Role != "" {
			continue
		}
		why := "[" + endedBy(ctx)
		if i < started {
			results[i] = failure(c, why+"; what the call did until then is not known]")
		} else {
			results[i] = failure(c, why+" before the call ran]")
		}
		l.emit(returned(results[i]))
	}
}

// run calls the tool and turns a panic into an error.
func run(ctx context.Context, t Tool, args json.RawMessage, progress func(string)) (r Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			r, err = Result{}, fmt.Errorf("the tool %s failed inside: %v", t.Name, caught(ctx, v))
		}
	}()
	return t.Run(ctx, args, progress)
}

// caught logs the stack of a panic for whoever mends it, and returns what was
// thrown for whoever met it.
func caught(ctx context.Context, v any) any {
	slog.ErrorContext(ctx, "a panic in a run", "panic", v, "stack", string(debug.Stack()))
	return v
}

// unknown is the answer to a call of a tool that does not exist.
func (l *loop) unknown(name string) string {
	names := make([]string, 0, len(l.specs))
	for _, s := range l.specs {
		names = append(names, s.Name)
	}
	if near := wire.Nearest(name, names); near != "" {
		return fmt.Sprintf("there is no tool %q; did you mean %s? The tools are: %s", name, near, strings.Join(names, ", "))
	}
	return fmt.Sprintf("there is no tool %q; the tools are: %s", name, strings.Join(names, ", "))
}

// toolResult is the message that answers c.
func toolResult(c wire.Part, r Result, err error) wire.Message {
	content := presentable(r.Content)
	if err != nil {
		content = addText(content, strings.ToValidUTF8(err.Error(), "\uFFFD"))
	}
	if len(content) == 0 {
		content = []wire.Part{wire.TextPart("(no output)")}
	}
	if !json.Valid(r.Details) {
		r.Details = nil // it would spoil the whole message
	}
	return wire.Message{
		Role:       wire.ToolResult,
		Content:    content,
		ToolCallID: c.ID,
		ToolName:   c.Name,
		Details:    r.Details,
		IsError:    err != nil,
		Timestamp:  time.Now().UnixMilli(),
	}
}

// failure is the error result of a call that gave nothing else.
func failure(c wire.Part, why string) wire.Message {
	return toolResult(c, Result{}, fmt.Errorf("%s", why))
}

// addText puts s after a blank line behind the text of parts.
func addText(parts []wire.Part, s string) []wire.Part {
	if n := len(parts); n > 0 && parts[n-1].Type == wire.Text {
		parts = slices.Clone(parts)
		parts[n-1].Text += "\n\n" + s
		return parts
	}
	return append(parts, wire.TextPart(s))
}

func returned(m wire.Message) wire.Event {
	return wire.Event{Type: wire.ToolReturned, Name: m.ToolName, Call: m.ToolCallID, Text: m.PlainText(), IsError: m.IsError}
}

// label is what a call is for in the model's words, or the name of the tool.
func label(c wire.Part) string {
	var args struct{ Label string }
	if err := json.Unmarshal(c.Arguments, &args); err != nil || args.Label == "" {
		return c.Name
	}
	return args.Label
}
