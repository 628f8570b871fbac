package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mikan/wire"
)

// lost is what the ending says of calls that left no message.
func (e Ending) lost() (calls, tokens int) {
	for _, m := range e.Lost {
		tokens += m.Usage.Total
	}
	return len(e.Lost), tokens
}

func TestEveryCallOfACompactionIsCounted(t *testing.T) {
	huge := says(text(strings.Repeat("blah ", 90_000)))
	b := newBench(nil, huge, huge, huge)
	b.journal.msgs = exchanges(90)
	if calls, tokens := b.Do(context.Background()).lost(); calls != 3 || tokens != 36 {
		t.Errorf("of 3 summaries in vain %d calls and %d tokens are counted", calls, tokens)
	}
	b = newBench(nil, huge, says(text("summary")), says(text("done")))
	b.journal.msgs = exchanges(90)
	calls, tokens := b.Do(context.Background()).lost()
	if paid := b.journal.compactions[0].Paid; calls != 1 || tokens != 12 || paid.Usage.Total != 12 || paid.Provider != "test" {
		t.Errorf("of the first summary %d calls and %d tokens are counted; with the second %+v", calls, tokens, paid)
	}
	b = newBench(nil, says(text("summary")))
	b.journal.msgs, b.journal.refuse, b.journal.after = exchanges(90), errors.New("disk full"), 1
	if calls, _ := b.Do(context.Background()).lost(); calls != 1 {
		t.Errorf("of a summary that was not saved %d calls are counted", calls)
	}
	b = newBench(nil, uncounted(text("summary")), says(text("done")))
	b.journal.msgs = exchanges(90)
	if b.Do(context.Background()); b.journal.compactions[0].Paid.Usage == nil {
		t.Error("of a summary without usage the call is not counted")
	}
	midway := func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		emit(Delta{Text: "half an ans"})
		return wire.Message{Usage: &wire.Usage{Input: 70_000, Total: 70_000}}, &ModelError{Trouble: Overflow, Text: "context size has been exceeded"}
	}
	b = newBench(nil, midway, says(text("summary")), says(text("done")))
	b.journal.msgs = exchanges(60)
	if e := b.Do(context.Background()); e.Outcome != wire.OK || len(e.Lost) != 1 || e.Lost[0].Usage.Total != 70_000 {
		t.Errorf("of an answer that overflowed midway %+v is counted", e.Lost)
	}
}

func TestNoSummaryIsPaidForThatCannotHelp(t *testing.T) {
	b := newBench(nil)
	b.Model.Window = 8192
	b.journal.msgs = exchanges(5)
	b.Prompt = user(strings.Repeat("a paste ", 10_000))
	e := b.Do(context.Background())
	if e.Outcome != wire.Failed || e.Calls != 0 || !strings.Contains(fmt.Sprint(e.Err), "newest message alone") {
		t.Errorf("%v after %d calls", e.Err, e.Calls)
	}
	small := newBench(nil)
	small.Model.Window, small.System = 4096, strings.Repeat("rule ", 4000)
	if e := small.Do(context.Background()); e.Calls != 0 || !strings.Contains(fmt.Sprint(e.Err), "the system prompt and the tools alone") {
		t.Errorf("%v after %d calls", e.Err, e.Calls)
	}
	// The next prompt goes on.
	again := newBench(nil, says(text("summary")), says(text("done")))
	again.Model.Window, again.journal, again.Store = 8192, b.journal, b.journal
	if e := again.Do(context.Background()); e.Outcome != wire.OK || len(again.compactions()) != 1 {
		t.Errorf("%+v", e)
	}
	// One that fits beside a short answer is answered.
	b = newBench(nil, says(text("summary")), says(text("done")))
	b.Model.Window = 8192
	b.journal.msgs = exchanges(5)
	b.Prompt = user(strings.Repeat("a paste ", 3200)) // 6,400 tokens, of a limit of 6,144
	if e := b.Do(context.Background()); e.Outcome != wire.OK || len(b.compactions()) != 1 {
		t.Errorf("%+v", e)
	}
}

func TestCompactionSaysWhyThereIsNone(t *testing.T) {
	silent := says(call("c", "echo", "{}"))
	b := newBench([]Tool{echo()}, silent, silent, silent)
	b.journal.msgs = exchanges(90)
	if e := b.Do(context.Background()); e.Outcome != wire.Failed || !errors.Is(e.Err, errSilent) || e.Calls != 3 {
		t.Errorf("no summary at all: %v", e.Err)
	}
	over := fails("", &ModelError{Trouble: Overflow, Text: "prompt is too long"})
	b = newBench(nil, over, over, over)
	b.journal.msgs = exchanges(90)
	if e := b.Do(context.Background()); e.Outcome != wire.Failed || !overflowed(e.Err) || !strings.Contains(e.Err.Error(), "compact the context") {
		t.Errorf("no summary fits: %v", e.Err)
	}
}

func TestFilesOfALongLifeLeaveRoomInTheSummary(t *testing.T) {
	b := newBench(nil)
	b.Model.Window = 32_000
	for round := range 10 {
		var msgs []wire.Message
		for i := range 400 {
			tool := []string{"read", "write"}[i%2]
			c := call(fmt.Sprintf("c%d-%d", round, i), tool, fmt.Sprintf(`{"path":"/work/some/deep/directory/%d/file-%d.go"}`, round, i))
			msgs = append(msgs, wire.Message{Role: wire.Assistant, Content: []wire.Part{c}}, toolResult(c, textResult("ok"), nil))
		}
		b.script.steps = append(b.script.steps, says(text("summary")))
		l := newLoop(b.Run)
		fatal(t, b.journal.Append(context.Background(), append([]wire.Message{user("go on")}, msgs...)...))
		fatal(t, l.load(context.Background()))
		fatal(t, l.compact(context.Background(), wire.CompactManual))
	}
	c := b.journal.compactions[9]
	if len(c.Summary) > 16<<10 {
		t.Errorf("the summary has %d bytes", len(c.Summary))
	}
	if !strings.Contains(c.Summary, "/9/file-1.go") || strings.Contains(c.Summary, "/0/file-") {
		t.Error("it is not the newest files that are named")
	}
	if len(c.Details.Modified) < len(c.Details.Read) {
		t.Errorf("%d modified files and %d read ones", len(c.Details.Modified), len(c.Details.Read))
	}
}

func TestTheRequestThatIsWorkedOnOutlivesAnyNumberOfCompactions(t *testing.T) {
	b := newBench([]Tool{echo()})
	b.journal.msgs = []wire.Message{user("build THE THING as I said")}
	for n := range 4 {
		for i := range 9 {
			c := call(fmt.Sprintf("c%d-%d", n, i), "echo", `{"a":"`+strings.Repeat("word ", 400)+`"}`)
			fatal(t, b.journal.Append(context.Background(), wire.Message{Role: wire.Assistant, Content: []wire.Part{c}}, toolResult(c, textResult("ok"), nil)))
		}
		b.script.steps = append(b.script.steps, says(text("## Goal\nnone")))
		l := newLoop(b.Run)
		fatal(t, l.load(context.Background()))
		fatal(t, l.compact(context.Background(), wire.CompactManual))
		if s := b.journal.compactions[n].Summary; strings.Count(s, "THE THING as I said") != 1 {
			t.Fatalf("after compaction %d the context begins with %q", n+1, s)
		}
	}
}
