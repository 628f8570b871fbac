package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mikan/wire"
)

// drawHistory makes a history with parallel calls, now and then a message between
// a call and its result, and a result that is missing.
func drawHistory(rt *rapid.T, broken bool) (msgs []wire.Message) {
	long := rapid.SampledFrom([]string{"", " " + strings.Repeat("x", 300), " " + strings.Repeat("日本", 2000)})
	n := 0
	for range rapid.IntRange(0, 12).Draw(rt, "exchanges") {
		msgs = append(msgs, user(fmt.Sprint("prompt ", len(msgs), long.Draw(rt, "prompt"))))
		for range rapid.IntRange(0, 3).Draw(rt, "turns") {
			m := wire.Message{Role: wire.Assistant, Content: []wire.Part{text("t" + long.Draw(rt, "text"))}}
			var results []wire.Message
			for range rapid.IntRange(0, 4).Draw(rt, "calls") {
				n++
				c := call(fmt.Sprint("c", n), "echo", fmt.Sprintf(`{"path":"/f%d"}`, n%5))
				m.Content = append(m.Content, c)
				results = append(results, toolResult(c, textResult("r"+long.Draw(rt, "result")), nil))
			}
			msgs = append(msgs, m)
			if broken && len(results) > 0 && rapid.Bool().Draw(rt, "breaks") {
				at := rapid.IntRange(0, len(results)-1).Draw(rt, "where")
				results[at] = user("in between")
			}
			msgs = append(msgs, results...)
		}
	}
	return msgs
}

// made counts the results that a repair had to make up.
func made(msgs []wire.Message) (n int) {
	for _, m := range Repair(msgs) {
		if m.Role == wire.ToolResult && m.PlainText() == lost {
			n++
		}
	}
	return n
}

func TestFault_H2_no_cut_tears_a_call_from_its_results(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		msgs := drawHistory(rt, true)
		keep := rapid.IntRange(0, 10_000).Draw(rt, "keep")
		cut := cutPoint(msgs, keep)
		if cut == 0 {
			return
		}
		if cut < 0 || cut >= len(msgs) || msgs[cut].Role == wire.ToolResult {
			rt.Fatalf("cut at %d of %d", cut, len(msgs))
		}
		if before, after := made(msgs[:cut]), made(msgs[cut:]); before+after != made(msgs) {
			rt.Fatalf("the cut at %d tears: %d and %d results are lost, %d in all", cut, before, after, made(msgs))
		}
		if more := cutPoint(msgs, 0); estimateAll(msgs[cut:]) > keep && more != cut {
			rt.Fatalf("%d tokens are kept of %d, though there is a later cut", estimateAll(msgs[cut:]), keep)
		}
	})
}

// whim answers at random: with calls, text, an overflow, silence until the end,
// and summaries that may be good for nothing.
type whim struct {
	rt   *rapid.T
	stop context.CancelCauseFunc
	left int // replies until it has nothing to add
	n    int
}

func (w *whim) Stream(ctx context.Context, req Request, _ func(Delta)) (wire.Message, error) {
	if w.left--; w.left < 0 {
		return wire.Message{Content: []wire.Part{text("done")}}, nil
	}
	m := wire.Message{Content: []wire.Part{text("reply")}, StopReason: wire.StopEnd}
	if rapid.Bool().Draw(w.rt, "counts") {
		n := estimateAll(req.Messages)
		m.Usage = &wire.Usage{Input: n, Total: n}
	}
	switch rapid.IntRange(0, 9).Draw(w.rt, "whim") {
	case 0:
		return wire.Message{}, &ModelError{Trouble: Overflow, Text: "prompt is too long"}
	case 1:
		w.stop(rapid.SampledFrom([]error{ErrStopped, ErrInterrupted}).Draw(w.rt, "cause"))
		<-ctx.Done()
		return wire.Message{}, ctx.Err()
	case 2:
		<-ctx.Done() // until it is given up
		return wire.Message{}, ctx.Err()
	case 3:
		m.Content = []wire.Part{text(strings.Repeat("long ", 5000))}
	}
	if req.System == SummarySystem {
		return m, nil
	}
	for range rapid.IntRange(0, 4).Draw(w.rt, "calls") {
		w.n++
		m.Content = append(m.Content, call(fmt.Sprint("w", w.n), "echo", fmt.Sprintf(`{"n":%d}`, w.n)))
	}
	return m, nil
}

func TestFault_H2_every_call_has_one_result_through_chained_and_broken_off_compactions(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 3000), 1, 9).Draw(rt, "outputs")
		var next atomic.Int32
		tool := echo()
		tool.Run = func(context.Context, json.RawMessage, func(string)) (Result, error) {
			return textResult(strings.Repeat("out ", sizes[int(next.Add(1))%len(sizes)])), nil
		}
		b := newBench([]Tool{tool})
		b.journal.msgs = drawHistory(rt, false)
		var wrong complaints
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			replies := b.journal.replies()
			synctest.Test(t, func(*testing.T) {
				ctx, stop := stopping()
				defer stop(nil)
				w := &whim{rt: rt, stop: stop, left: rapid.IntRange(1, 12).Draw(rt, "replies"), n: len(b.journal.msgs) * 10}
				r := &Run{
					Model: b.Model, System: "s", Tools: b.Tools, Store: b.journal, Prompt: user("next"), Idle: time.Minute,
					Provider:    watched{w, &wrong},
					WantCompact: func() bool { return rapid.IntRange(0, 5).Draw(rt, "wanted") == 0 },
				}
				r.Model.Window = rapid.SampledFrom([]int{4000, 8000, 40_000}).Draw(rt, "window")
				e := r.Do(ctx)
				r.Wait()
				if e.Calls > 100 {
					wrong.Fatalf("%d calls", e.Calls)
				}
				if err := b.journal.Append(context.Background(), e.Final...); err != nil {
					wrong.Fatalf("%v", err)
				}
				if n := b.journal.replies() - replies + len(e.Lost); n != e.Calls {
					wrong.Fatalf("%d calls were made, and %d are counted", e.Calls, n)
				}
			})
			if len(wrong.list) > 0 {
				rt.Fatal(wrong.list[0])
			}
			lawful(rt, b.journal.msgs)
			context, err := b.journal.Context(context.Background())
			if err != nil {
				rt.Fatal(err)
			}
			lawful(rt, context)
		}
	})
}

// replies counts the calls that the journal knows of.
func (j *journal) replies() int {
	n := len(j.compactions)
	for _, m := range j.msgs {
		if m.Role == wire.Assistant {
			n++
		}
	}
	return n
}

// watched is a provider whose requests are judged.
type watched struct {
	Provider
	wrong *complaints
}

func (w watched) Stream(ctx context.Context, req Request, emit func(Delta)) (wire.Message, error) {
	lawful(w.wrong, req.Messages)
	if len(req.Messages) == 0 {
		w.wrong.Fatalf("a request without messages")
	}
	return w.Provider.Stream(ctx, req, emit)
}

// complaints are failures that a goroutine of a run finds, of which it must not
// panic.
type complaints struct {
	mu   sync.Mutex
	list []string
}

func (c *complaints) Helper() {}

func (c *complaints) Fatalf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
}
