package demo_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/harness"
	"mikan/harness/demo"
	"mikan/wire"
)

type memory struct{ msgs []wire.Message }

func (m *memory) Context(context.Context) ([]wire.Message, error) { return m.msgs, nil }

func (m *memory) Compact(_ context.Context, c harness.Compaction) error {
	summary := wire.SummaryMessage(wire.Entry{Summary: c.Summary})
	m.msgs = wire.Compacted(summary, m.msgs[len(m.msgs)-c.Keep:])
	return nil
}

func (m *memory) Append(_ context.Context, msgs ...wire.Message) error {
	m.msgs = append(m.msgs, msgs...)
	return nil
}

// bash answers the commands that the tests use.
func bash() harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{Name: "bash"},
		Run: func(_ context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			var a struct{ Label, Command string }
			if err := json.Unmarshal(args, &a); err != nil {
				return harness.Result{}, err
			}
			if a.Label != "$ "+a.Command {
				return harness.Result{}, errors.New("no label")
			}
			out := harness.Result{Content: []wire.Part{wire.TextPart("ran " + a.Command)}}
			if a.Command == "false" {
				return out, errors.New("Command exited with code 1")
			}
			return out, nil
		},
	}
}

// ask runs a prompt and returns the ending and the text that was streamed.
func ask(t *testing.T, store *memory, prompt string) (harness.Ending, string) {
	t.Helper()
	var streamed strings.Builder
	run := harness.Run{
		Model:    demo.Model(),
		Provider: demo.Provider{},
		Tools:    []harness.Tool{bash()},
		Store:    store,
		Prompt:   wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(harness.UserText(time.Unix(0, 0), "ada", "", prompt))}},
		Emit: func(e wire.Event) {
			if e.Type == wire.Delta {
				streamed.WriteString(e.Text)
			}
		},
	}
	e := run.Do(context.Background())
	if e.Outcome != wire.OK {
		t.Fatalf("%+v", e)
	}
	store.msgs = append(store.msgs, e.Final...)
	return e, streamed.String()
}

func TestTheAnswerIsTheOutputsOfTheCommands(t *testing.T) {
	store := &memory{}
	for prompt, want := range map[string]struct {
		answer string
		calls  int
	}{
		"please\n$ ls -l\nand\n$ false\r\n": {"ran ls -l\nran false\n\nCommand exited with code 1", 3},
		"$ one":                             {"ran one", 2},
		"hello\n there $ x":                 {"demo: hello\n there $ x\n\n" + demo.Hint, 1},
		"":                                  {"demo: \n\n" + demo.Hint, 1},
		"% bash {\"label\":\"$ x\",\"command\":\"x\"}\n$ y": {"ran x\nran y", 3},
		"% none":        {"there is no tool \"none\"; the tools are: bash", 2},
		"% of all {\"a": {"demo: % of all {\"a\n\n" + demo.Hint, 1},
		"$echo":         {"demo: $echo\n\n" + demo.Hint, 1},
	} {
		e, streamed := ask(t, store, prompt)
		if got := e.Final[0].PlainText(); got != want.answer || got != streamed {
			t.Errorf("%q: %q, streamed %q, want %q", prompt, got, streamed, want.answer)
		}
		if e.Calls != want.calls || e.Usage.Input == 0 || e.Usage.Output == 0 || e.Usage.Total != e.Usage.Input+e.Usage.Output {
			t.Errorf("%q: %d calls, usage %+v", prompt, e.Calls, e.Usage)
		}
	}
}

func TestItStreamsWordByWord(t *testing.T) {
	var words []string
	req := harness.Request{Messages: []wire.Message{{Role: wire.User, Content: []wire.Part{wire.TextPart("two words")}}}}
	m, err := demo.Provider{}.Stream(context.Background(), req, func(d harness.Delta) { words = append(words, d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"demo: ", "two ", "words\n", "\n"}, words[:4]); d != "" {
		t.Error(d)
	}
	if strings.Join(words, "") != m.PlainText() {
		t.Error("what was streamed is not what was answered")
	}
}

func TestAStopEndsTheStream(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	req := harness.Request{Messages: []wire.Message{{Role: wire.User, Content: []wire.Part{wire.TextPart("two words")}}}}
	m, err := demo.Provider{}.Stream(ctx, req, func(harness.Delta) { stop(harness.ErrStopped) })
	if !errors.Is(err, harness.ErrStopped) || m.PlainText() != "demo: " {
		t.Errorf("%q %v", m.PlainText(), err)
	}
}
