package subagents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a provider that answers a subagent by the first word of its task.
type script struct {
	acts map[string]act

	mu       sync.Mutex
	requests []harness.Request
	now      int // calls at the same time
	most     int
}

// act answers the nth model call of a subagent.
type act func(ctx context.Context, n int, req harness.Request) (wire.Message, error)

func (s *script) Stream(ctx context.Context, req harness.Request, _ func(harness.Delta)) (wire.Message, error) {
	n, task := 0, ""
	for _, m := range req.Messages {
		switch m.Role {
		case wire.Assistant:
			n++
		case wire.User:
			task = harness.Unprefixed(m.PlainText())
		}
	}
	if i := strings.Index(task, "Your task:\n\n"); i >= 0 {
		task = task[i+len("Your task:\n\n"):]
	}
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.now++
	s.most = max(s.most, s.now)
	s.mu.Unlock()
	defer func() { s.mu.Lock(); s.now--; s.mu.Unlock() }()
	word := strings.Fields(task)[0]
	do, ok := s.acts[word]
	if !ok {
		return wire.Message{}, fmt.Errorf("the script has no act %q", word)
	}
	m, err := do(ctx, n, req)
	if err == nil && m.Usage == nil {
		m.Usage = &wire.Usage{Input: 10, Output: 2, Total: 12}
	}
	return m, err
}

// prompts returns what subagents were first asked, by the first word of the task.
func (s *script) prompt(word string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if text := harness.Unprefixed(r.Messages[0].PlainText()); strings.HasPrefix(text, word) || strings.Contains(text, "Your task:\n\n"+word) {
			return text
		}
	}
	return ""
}

func says(text string) act {
	return func(context.Context, int, harness.Request) (wire.Message, error) {
		return wire.Message{Content: []wire.Part{wire.TextPart(text)}, StopReason: wire.StopEnd}, nil
	}
}

// calls calls a tool, then says text.
func calls(tool, args, text string) act {
	return func(ctx context.Context, n int, req harness.Request) (wire.Message, error) {
		if n > 0 {
			return says(text)(ctx, n, req)
		}
		return wire.Message{Content: []wire.Part{{Type: wire.ToolCall, ID: "c", Name: tool, Arguments: json.RawMessage(args)}}, StopReason: wire.StopToolUse}, nil
	}
}

func breaks(context.Context, int, harness.Request) (wire.Message, error) {
	return wire.Message{}, &harness.ModelError{Trouble: harness.Refused, Text: "the model refuses"}
}

// hangs says nothing until its run ends, and that it has begun on begun.
func hangs(begun chan<- struct{}) act {
	return func(ctx context.Context, _ int, _ harness.Request) (wire.Message, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return wire.Message{}, ctx.Err()
	}
}

// crew is a parent with its owner.
type crew struct {
	Parent
	script *script
	owned  sync.WaitGroup

	mu    sync.Mutex
	spent []wire.Message
}

func newCrew(t *testing.T, acts map[string]act) *crew {
	c := &crew{script: &script{acts: acts}}
	c.Parent = Parent{
		Brain:    Brain{Model: harness.Model{Provider: "test", ID: "model", API: "test", Window: 1_000_000, MaxTokens: 500, Price: harness.Price{Input: 1e5}}, Provider: c.script},
		Profiles: Builtin,
		Tools:    []harness.Tool{named("bash"), named("edit"), named("read"), named("write")},
		Dir:      "/work",
		Meter:    harness.NewMeter(harness.Limits{}, nil),
		History:  func() []wire.Message { return nil },
		Slots:    NewSlots(),
		Session:  "office/main",
		Spawn:    func(f func()) bool { c.owned.Go(f); return true },
		Spent: func(_ context.Context, m wire.Message) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.spent = append(c.spent, m)
			return nil
		},
	}
	t.Cleanup(c.owned.Wait)
	return c
}

// named is a tool that gives back its name.
func named(name string) harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		Run: func(context.Context, json.RawMessage, func(string)) (harness.Result, error) {
			return harness.Result{Content: []wire.Part{wire.TextPart("ran " + name)}}, nil
		},
	}
}

// use calls the tool and returns its results.
func (c *crew) use(ctx context.Context, t *testing.T, args string) []Result {
	t.Helper()
	r, err := Tool(c.Parent).Run(ctx, json.RawMessage(args), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].Text
	var many struct{ Results []Result }
	var one Result
	if err := json.Unmarshal([]byte(text), &many); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if many.Results != nil {
		return many.Results
	}
	if err := json.Unmarshal([]byte(text), &one); err != nil {
		t.Fatal(err)
	}
	return []Result{one}
}

func statuses(results []Result) (list []Status) {
	for _, r := range results {
		list = append(list, r.Status)
	}
	return list
}

func want(t *testing.T, results []Result, want ...Status) {
	t.Helper()
	if got := statuses(results); !slices.Equal(got, want) {
		t.Fatalf("%v, want %v; %+v", got, want, results)
	}
}
