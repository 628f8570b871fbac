package modeltest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// journal is a store in a directory, one message a file.
type journal struct {
	t   *testing.T
	dir string

	mu         sync.Mutex
	compaction compaction
}

func (j *journal) Append(_ context.Context, msgs ...wire.Message) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, m := range msgs {
		data, err := json.Marshal(m)
		if err != nil {
			return fmt.Errorf("a message that is no JSON: %w", err)
		}
		files, err := os.ReadDir(j.dir)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(j.dir, fmt.Sprintf("%04d", len(files))), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (j *journal) Context(context.Context) ([]wire.Message, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	files, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	var msgs []wire.Message
	for _, f := range files {
		var m wire.Message
		data, err := os.ReadFile(filepath.Join(j.dir, f.Name()))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, err
		}
		msgs = append(msgs, m)
	}
	if c := j.compaction; c.at > 0 {
		summary := wire.SummaryMessage(wire.Entry{Summary: c.summary})
		msgs = append(wire.Compacted(summary, msgs[c.kept:c.at]), msgs[c.at:]...)
	}
	return msgs, nil
}

// Compact notes what a compaction keeps of the files.
func (j *journal) Compact(_ context.Context, c harness.Compaction) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	files, err := os.ReadDir(j.dir)
	j.compaction = compaction{c.Summary, len(files) - c.Keep, len(files)}
	return err
}

// compaction is the newest one of a journal; the zero value is none.
type compaction struct {
	summary  string
	kept, at int // messages: the first that it kept, and how many there were
}

// echoTools return their arguments; the slower ones end last.
func echoTools() []harness.Tool {
	var tools []harness.Tool
	for _, s := range specs {
		tools = append(tools, harness.Tool{ToolSpec: s, Run: func(_ context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			return harness.Result{Content: []wire.Part{wire.TextPart(s.Name + " " + string(args))}}, nil
		}})
	}
	return tools
}

// do runs one prompt through the loop.
func do(t *testing.T, a api, s *modeltest.Server, j *journal, prompt string) harness.Ending {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := &harness.Run{
		Model: a.model, Provider: a.dial(s, client(t)), System: "You are a test.", Tools: echoTools(),
		Store: j, Session: "s", Prompt: user(prompt),
	}
	end := run.Do(ctx)
	run.Wait()
	if err := j.Append(ctx, end.Final...); err != nil {
		t.Fatal(err)
	}
	return end
}

// paired fails the test if a call in the history has not exactly one result.
func paired(t *testing.T, j *journal) []wire.Message {
	t.Helper()
	msgs, err := j.Context(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	results := map[string]int{}
	for _, m := range msgs {
		if m.Role == wire.ToolResult {
			results[m.ToolCallID]++
		}
	}
	for _, m := range msgs {
		for _, c := range m.Calls() {
			if results[c.ID] != 1 {
				t.Errorf("the call %s has %d results", c.ID, results[c.ID])
			}
			var object map[string]any
			if json.Unmarshal(c.Arguments, &object) != nil {
				t.Errorf("the arguments of %s are %s", c.ID, c.Arguments)
			}
		}
	}
	return msgs
}

func TestFiveTurns_anthropic(t *testing.T) { fiveTurns(t, apis[0]) }
func TestFiveTurns_openai(t *testing.T)    { fiveTurns(t, apis[1]) }
func TestFiveTurns_responses(t *testing.T) { fiveTurns(t, apis[2]) }

// fiveTurns holds a conversation of five prompts, with parallel calls of many
// tools in each, over a stream that is cut in each unlucky way.
func fiveTurns(t *testing.T, a api) {
	for name, split := range modeltest.Splits {
		t.Run(name, func(t *testing.T) {
			s := a.server(t)
			s.Split = split
			j := &journal{t: t, dir: t.TempDir()}
			for turn := range 5 {
				var calls []modeltest.Call
				for n := range 3 {
					args, _ := json.Marshal(map[string]any{"command": fmt.Sprintf("%s %d.%d", hostile, turn, n)})
					calls = append(calls, modeltest.Call{ID: fmt.Sprintf("id_%d", n), Name: []string{"bash", "read", "nosuch"}[n], Arguments: string(args)})
				}
				s.Then(
					modeltest.Turn{Thinking: "let me see", Signature: "sig=", Text: "Looking.", Calls: calls, Usage: modeltest.Usage{Input: 100, Output: 10}},
					modeltest.Turn{Calls: []modeltest.Call{{ID: "id_0", Name: "bash", Arguments: `{}`}}, Usage: modeltest.Usage{Input: 100, Output: 10}},
					modeltest.Turn{Text: fmt.Sprintf("Answer %d: %s", turn, hostile), Usage: modeltest.Usage{Input: 100, Output: 10}},
				)
				end := do(t, a, s, j, fmt.Sprintf("question %d", turn))
				if end.Outcome != wire.OK || end.Calls != 3 || end.Usage.Total != 330 {
					t.Fatalf("turn %d: %+v; refused %q", turn, end, s.Refusals())
				}
				if got := end.Final[0].PlainText(); got != fmt.Sprintf("Answer %d: %s", turn, hostile) {
					t.Errorf("turn %d: %q", turn, got)
				}
			}
			if r := s.Refusals(); len(r) > 0 {
				t.Errorf("refused: %q", r)
			}
			if msgs := paired(t, j); len(msgs) != 5*8 {
				t.Errorf("%d messages", len(msgs))
			}
			last := string(s.Requests()[14].Body)
			for _, want := range []string{"question 0", "question 4", "bash {", "4.2"} {
				if !strings.Contains(last, want) {
					t.Errorf("the last request lacks %q", want)
				}
			}
		})
	}
}

func TestFault_H4_arguments_always_object(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for _, args := range []string{`{"command":`, `[]`, `"str"`, `null`, `17`, "{\"command\":\"a\x00b\"}", `{"command":"\ud800"}`, ``, `{"command":{"deep":1}}`, `}{`} {
			s := a.server(t, modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "bash", Arguments: args}}}, modeltest.Turn{Text: "done"})
			j := &journal{t: t, dir: t.TempDir()}
			if end := do(t, a, s, j, "go"); end.Outcome != wire.OK || len(s.Refusals()) > 0 {
				t.Errorf("%q: %+v; refused %q", args, end, s.Refusals())
			}
			msgs := paired(t, j)
			if bad := !strings.HasPrefix(args, `{"command":"\`) && !strings.HasPrefix(args, `{"command":{`) && args != ""; bad && !msgs[2].IsError {
				t.Errorf("%q: the model was not told: %+v", args, msgs[2])
			}
		}
	})
}

func TestFault_H5_ids_that_are_missing_or_used_twice_or_hostile(t *testing.T) {
	zero := 0
	each(t, func(t *testing.T, a api) {
		for name, calls := range map[string][]modeltest.Call{
			"one id twice": {{ID: "same", Name: "bash", Arguments: `{"n":1}`}, {ID: "same", Name: "bash", Arguments: `{"n":2}`}},
			"hostile":      {{ID: "fc|1/ü", Name: "bash", Arguments: `{"n":1}`}, {ID: strings.Repeat("x", 200), Name: "read", Arguments: `{"n":2}`}},
			"none":         {{Name: "bash", Arguments: `{"n":1}`}, {Name: "read", Arguments: `{"n":2}`}},
			"no index":     {{ID: "a", Name: "bash", Arguments: `{"n":1}`, NoIndex: true}, {ID: "b", Name: "read", Arguments: `{"n":2}`, NoIndex: true}},
			"nothing":      {{Name: "bash", Arguments: `{"n":1}`, NoIndex: true}, {Name: "read", Arguments: `{"n":2}`, NoIndex: true}},
			"one index":    {{ID: "a", Name: "bash", Arguments: `{"n":1}`, Index: &zero, Whole: true}, {ID: "b", Name: "read", Arguments: `{"n":2}`, Index: &zero, Whole: true}},
			"one id, whole, no index": {{ID: "a", Name: "bash", Arguments: `{"n":1}`, NoIndex: true, Whole: true},
				{ID: "a", Name: "bash", Arguments: `{"n":2}`, NoIndex: true, Whole: true}},
		} {
			t.Run(name, func(t *testing.T) {
				s := a.server(t)
				s.Split = modeltest.ByteByByte
				j := &journal{t: t, dir: t.TempDir()}
				for range 2 { // the second time each id has been used before
					s.Then(modeltest.Turn{Calls: calls}, modeltest.Turn{Text: "done"})
					if end := do(t, a, s, j, "go"); end.Outcome != wire.OK {
						t.Fatalf("%+v; refused %q", end, s.Refusals())
					}
				}
				var outputs []string
				for _, m := range paired(t, j) {
					if m.Role == wire.ToolResult {
						outputs = append(outputs, m.PlainText())
					}
				}
				want := []string{calls[0].Name + ` {"n":1}`, calls[1].Name + ` {"n":2}`}
				if !slices.Equal(outputs, append(want, want...)) {
					t.Errorf("results %q", outputs)
				}
			})
		}
	})
}

func TestFault_H5_the_provider_changes_in_the_middle_of_a_session(t *testing.T) {
	j := &journal{t: t, dir: t.TempDir()}
	servers := map[string]*modeltest.Server{}
	for _, a := range apis {
		servers[a.name] = a.server(t)
	}
	for n := range 2 * len(apis) {
		a := apis[n%len(apis)]
		s := servers[a.name]
		s.Then(
			modeltest.Turn{Thinking: "secret thoughts of " + a.name, Signature: "signature-of-" + a.name, Calls: []modeltest.Call{{ID: "toolu|" + strings.Repeat("z", 60), Name: "bash", Arguments: `{}`}}},
			modeltest.Turn{Text: "done"})
		if end := do(t, a, s, j, "go"); end.Outcome != wire.OK || len(s.Refusals()) > 0 {
			t.Fatalf("%+v; refused %q", end, s.Refusals())
		}
		for _, r := range s.Requests() {
			for _, other := range apis {
				if other.name != a.name && (strings.Contains(string(r.Body), "thoughts of "+other.name) || strings.Contains(string(r.Body), "signature-of-"+other.name)) {
					t.Errorf("%s got the thoughts of %s", a.name, other.name)
				}
			}
		}
	}
	paired(t, j)
}
