package harness

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/wire"
)

// deaf streams some text and then heeds nothing until release is closed.
func deaf(release chan struct{}) step {
	return func(_ context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		emit(Delta{Text: "half an "})
		emit(Delta{Text: "answer"})
		<-release
		emit(Delta{Text: " too late"})
		return wire.Message{Content: []wire.Part{text("whole")}}, nil
	}
}

func TestAStopKeepsThePartThatHadCome(t *testing.T) {
	for cause, want := range map[error]wire.Outcome{
		ErrStopped: wire.Stopped, ErrInterrupted: wire.Interrupted, errors.New("else"): wire.Interrupted,
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := stopping()
			release := make(chan struct{})
			b := newBench(nil, deaf(release))
			time.AfterFunc(time.Minute, func() { stop(cause) })
			start := time.Now()
			e := b.Do(ctx)
			if e.Outcome != want || e.Err != nil {
				t.Errorf("%v: %+v", cause, e)
			}
			if took := time.Since(start) - time.Minute; took > time.Second {
				t.Errorf("took %v to stop", took)
			}
			if d := cmp.Diff([]string{"assistant: half an answer"}, texts(e.Final)); d != "" || e.Final[0].StopReason != wire.StopAborted {
				t.Errorf("%s %+v", d, e.Final)
			}
			events := len(b.types())
			close(release)
			b.Wait()
			if len(b.types()) != events {
				t.Error("an event came after the end")
			}
		})
	}
}

// A provider may report a stop as a broken connection.
func TestAStopIsNoTroubleOfTheServer(t *testing.T) {
	ctx, stop := stopping()
	b := newBench(nil, func(context.Context, Request, func(Delta)) (wire.Message, error) {
		stop(ErrStopped)
		return wire.Message{Content: []wire.Part{text("half")}}, trouble(Transient, 0)
	})
	e := b.Do(ctx)
	if e.Outcome != wire.Stopped || len(e.Final) != 1 || e.Final[0].PlainText() != "half" {
		t.Errorf("%+v", e)
	}
	if slices.Contains(b.types(), wire.AgentError) {
		t.Error("readers were told of an error")
	}
}

func TestAnInterruptedRunThatHasNotStartedChangesNothing(t *testing.T) {
	for cause, want := range map[error]int{ErrInterrupted: 0, ErrStopped: 1} {
		ctx, stop := stopping()
		stop(cause)
		b := newBench(nil)
		if e := b.Do(ctx); e.Outcome == wire.OK || e.Calls != 0 || len(e.Final) != 0 || len(b.journal.msgs) != want {
			t.Errorf("%v: %+v, %d messages", cause, e, len(b.journal.msgs))
		}
	}
}

func TestAStopAfterTheLastAnswerIsNotAFailure(t *testing.T) {
	ctx, stop := stopping()
	b := newBench(nil, func(context.Context, Request, func(Delta)) (wire.Message, error) {
		stop(ErrStopped)
		return wire.Message{Content: []wire.Part{text("done")}, StopReason: wire.StopEnd}, nil
	})
	if e := b.Do(ctx); e.Outcome != wire.OK || e.Final[0].PlainText() != "done" {
		t.Errorf("%+v", e)
	}
}

// batch is a reply of n calls of the tool work, whose first is done at once
// while the others wait until they are told to stop, or longer if they are deaf.
func batch(n int, deaf bool, release chan struct{}) (step, Tool) {
	var calls []wire.Part
	for i := range n {
		calls = append(calls, call(string(rune('a'+i)), "work", `{"i":`+string(rune('0'+i))+`}`))
	}
	work := Tool{ToolSpec: ToolSpec{Name: "work"}, Run: func(ctx context.Context, args json.RawMessage, progress func(string)) (Result, error) {
		if strings.Contains(string(args), "0") {
			return textResult("first done"), nil
		}
		if deaf {
			<-release
			progress("too late")
		}
		<-ctx.Done()
		return textResult("partial"), errors.New("Command was stopped by the user")
	}}
	return says(calls...), work
}

func TestFault_H1_abort_in_a_parallel_batch(t *testing.T) {
	for name, isDeaf := range map[string]bool{"tools that heed it": false, "tools that do not": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := stopping()
				release := make(chan struct{})
				reply, work := batch(9, isDeaf, release)
				b := newBench([]Tool{work}, reply)
				time.AfterFunc(time.Minute, func() { stop(ErrStopped) })
				start := time.Now()
				e := b.Do(ctx)
				if e.Outcome != wire.Stopped || time.Since(start)-time.Minute > time.Second {
					t.Errorf("%+v after %v", e, time.Since(start))
				}
				lawful(t, b.all(e))
				if len(e.Final) != 9 || e.Final[0].PlainText() != "first done" || e.Final[0].IsError {
					t.Errorf("final: %v", texts(e.Final))
				}
				want := "partial\n\nCommand was stopped by the user"
				if isDeaf {
					want = "[stopped by the user; what the call did until then is not known]"
				}
				for _, r := range e.Final[1:] {
					if !r.IsError || r.PlainText() != want {
						t.Errorf("%q, want %q", r.PlainText(), want)
					}
				}
				events := len(b.types())
				close(release)
				b.Wait()
				if len(b.types()) != events {
					t.Error("an event came after the end")
				}
			})
		})
	}
}

func TestCallsThatHadToWaitAreNotStartedAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := stopping()
		reply, work := batch(10, false, nil)
		b := newBench([]Tool{work}, reply)
		time.AfterFunc(time.Minute, func() { stop(ErrInterrupted) })
		e := b.Do(ctx)
		lawful(t, b.all(e))
		if last := e.Final[9].PlainText(); last != "[interrupted: the daemon ended before the call ran]" {
			t.Error(last)
		}
	})
}

func TestFault_H1_killed_between_call_and_result(t *testing.T) {
	msgs := []wire.Message{
		user("go"),
		{Role: wire.Assistant, Content: []wire.Part{call("a", "bash", "{}"), call("b", "bash", "{}"), call("c", "read", "{}")}},
		{Role: wire.ToolResult, ToolCallID: "b", ToolName: "bash", Content: []wire.Part{text("done")}},
	}
	missing := Close(msgs, "[interrupted]")
	if len(missing) != 2 || missing[0].ToolCallID != "a" || missing[1].ToolCallID != "c" || !missing[1].IsError || missing[1].ToolName != "read" {
		t.Fatalf("%+v", missing)
	}
	whole := append(msgs, missing...)
	lawful(t, Repair(whole))
	if again := Close(whole, "[interrupted]"); len(again) != 0 {
		t.Errorf("closed twice: %+v", again)
	}
}
