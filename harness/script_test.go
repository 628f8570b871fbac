package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"mikan/wire"
)

// script is a provider that answers as a test says, one step a call.
type script struct {
	steps []step

	mu       sync.Mutex
	requests []Request
}

type step func(ctx context.Context, req Request, emit func(Delta)) (wire.Message, error)

func (s *script) Stream(ctx context.Context, req Request, emit func(Delta)) (wire.Message, error) {
	s.mu.Lock()
	n := len(s.requests)
	req.Messages = slices.Clone(req.Messages)
	s.requests = append(s.requests, req)
	s.mu.Unlock()
	if n >= len(s.steps) {
		return wire.Message{}, fmt.Errorf("the script has no step %d", n+1)
	}
	return s.steps[n](ctx, req, emit)
}

// says answers with parts, the text among them as one delta each.
func says(parts ...wire.Part) step { return stops(wire.StopEnd, parts...) }

func stops(reason string, parts ...wire.Part) step {
	return func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		for _, p := range parts {
			if p.Type == wire.Text {
				emit(Delta{Text: p.Text})
			}
		}
		return wire.Message{Content: parts, StopReason: reason, Usage: &wire.Usage{Input: 10, Output: 2, Total: 12}}, nil
	}
}

// fails sends text, then fails with err.
func fails(text string, err error) step {
	return func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		if text != "" {
			emit(Delta{Text: text})
		}
		return wire.Message{}, err
	}
}

func text(s string) wire.Part { return wire.TextPart(s) }

func call(id, name, args string) wire.Part {
	return wire.Part{Type: wire.ToolCall, ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func user(s string) wire.Message {
	return wire.Message{Role: wire.User, Content: []wire.Part{text(s)}}
}

// journal is a store in memory.
type journal struct {
	mu          sync.Mutex
	msgs        []wire.Message // all that were appended
	compactions []Compaction
	kept, at    int   // messages at the last: the first that it kept, and how many there were
	refuse      error // of Append
	after       int   // appends that are taken before it refuses
}

func (j *journal) Context(context.Context) ([]wire.Message, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.compactions) == 0 {
		return slices.Clone(j.msgs), nil
	}
	e := wire.Entry{Summary: j.compactions[len(j.compactions)-1].Summary}
	return append(wire.Compacted(wire.SummaryMessage(e), j.msgs[j.kept:j.at]), j.msgs[j.at:]...), nil
}

func (j *journal) Compact(_ context.Context, c Compaction) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.refuse != nil {
		return j.refuse
	}
	j.compactions = append(j.compactions, c)
	j.kept, j.at = len(j.msgs)-c.Keep, len(j.msgs)
	return nil
}

func (j *journal) Append(ctx context.Context, msgs ...wire.Message) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if j.refuse != nil && j.after == 0 {
		return j.refuse
	}
	j.after--
	j.msgs = append(j.msgs, msgs...)
	return nil
}

// bench is a run with what a test looks at.
type bench struct {
	*Run
	script  *script
	journal *journal

	mu     sync.Mutex
	events []wire.Event
	seen   chan wire.Event // each event, for a test that waits for one
}

func newBench(tools []Tool, steps ...step) *bench {
	b := &bench{script: &script{steps: steps}, journal: &journal{}, seen: make(chan wire.Event, 10000)}
	b.Run = &Run{
		Model:    Model{Provider: "test", ID: "model", API: "test", Window: 100_000, MaxTokens: 500, Price: Price{Input: 1e6}},
		Provider: b.script,
		System:   "system",
		Tools:    tools,
		Store:    b.journal,
		Prompt:   user("go"),
		Emit: func(e wire.Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
			b.seen <- e
		},
	}
	return b
}

// await returns when an event of type typ has been emitted.
func (b *bench) await(typ wire.EventType) wire.Event {
	for e := range b.seen {
		if e.Type == typ {
			return e
		}
	}
	return wire.Event{}
}

// types are the types of the events so far.
func (b *bench) types() []wire.EventType {
	b.mu.Lock()
	defer b.mu.Unlock()
	var types []wire.EventType
	for _, e := range b.events {
		types = append(types, e.Type)
	}
	return types
}

// all is the history as it stands once the caller has committed the ending.
func (b *bench) all(e Ending) []wire.Message { return append(slices.Clone(b.journal.msgs), e.Final...) }

// lawful fails the test unless each call in msgs has exactly one result, in
// order, directly after its message, ids are unique and fit for any provider,
// and arguments are objects.
func lawful(t interface {
	Helper()
	Fatalf(string, ...any)
}, msgs []wire.Message) {
	t.Helper()
	ids := map[string]bool{}
	for i := 0; i < len(msgs); i++ {
		if msgs[i].Role == wire.ToolResult {
			t.Fatalf("message %d is a result without a call: %+v", i, msgs[i])
		}
		for _, c := range msgs[i].Calls() {
			var args map[string]any
			if err := json.Unmarshal(c.Arguments, &args); err != nil || args == nil {
				t.Fatalf("message %d: arguments are no object: %s", i, c.Arguments)
			}
			if ids[c.ID] || plainName(c.ID, "") != c.ID || c.ID == "" {
				t.Fatalf("message %d: bad or used id %q", i, c.ID)
			}
			ids[c.ID] = true
		}
		calls := msgs[i].Calls()
		for n, c := range calls {
			i++
			if i == len(msgs) || msgs[i].Role != wire.ToolResult || msgs[i].ToolCallID != c.ID {
				t.Fatalf("call %d %s has no result in its place", n, c.ID)
			}
		}
	}
}

// echo is a tool that gives back its arguments.
func echo() Tool {
	return Tool{
		ToolSpec: ToolSpec{Name: "echo", Description: "Echo.", Schema: json.RawMessage(`{"type":"object"}`)},
		Run: func(_ context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			return textResult(string(args)), nil
		},
	}
}

// texts are the plain texts of msgs, each with its role.
func texts(msgs []wire.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, m.Role+": "+m.PlainText())
	}
	return out
}

func stopping() (context.Context, context.CancelCauseFunc) {
	return context.WithCancelCause(context.Background())
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
