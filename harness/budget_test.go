package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mikan/wire"
)

// busy is a script of n turns with a call each, and a final answer.
func busy(n int) []step {
	var steps []step
	for i := range n {
		steps = append(steps, says(call("c", "echo", fmt.Sprintf(`{"i":%d}`, i))))
	}
	return append(steps, says(text("done")))
}

func TestBudget_a_limit_ends_the_run_before_the_next_call(t *testing.T) {
	for name, tt := range map[string]struct {
		limits Limits
		calls  int
		reason string
	}{
		"calls":  {Limits{Calls: 3}, 3, "3 LLM calls >= 3 limit"},
		"tokens": {Limits{Tokens: 20}, 2, "24 tokens >= 20 limit"},
		"cost":   {Limits{CostUSD: 15}, 2, "cost 20.0000 USD >= 15.0000 USD limit"}, // USD 10 a call
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench([]Tool{echo()}, busy(9)...)
			b.Meter = NewMeter(tt.limits, nil)
			e := b.Do(context.Background())
			var budget *BudgetError
			if e.Outcome != wire.OverBudget || !errors.As(e.Err, &budget) || budget.Reason != tt.reason {
				t.Fatalf("%s: %v, want %s", e.Outcome, e.Err, tt.reason)
			}
			if e.Calls != tt.calls || budget.Calls != tt.calls || budget.Tokens != 12*tt.calls || budget.CostUSD != 10*float64(tt.calls) {
				t.Errorf("%d calls, %+v", e.Calls, budget)
			}
			lawful(t, b.all(e))
			told := b.await(wire.BudgetExceeded)
			if told.Error != tt.reason || told.Budget == nil || *told.Budget != (wire.Budget{Reason: tt.reason, Tokens: budget.Tokens, CostUSD: budget.CostUSD, LLMCalls: tt.calls, DurationMS: budget.Duration.Milliseconds()}) {
				t.Errorf("told %+v, %+v", told, told.Budget)
			}
		})
	}
}

func TestFault_21_30_a_limit_reached_with_the_final_answer_is_no_failure(t *testing.T) {
	for name, limits := range map[string]Limits{"calls": {Calls: 3}, "tokens": {Tokens: 36}, "cost": {CostUSD: 25}} {
		b := newBench([]Tool{echo()}, busy(2)...)
		b.Meter = NewMeter(limits, nil)
		b.Steer = func(context.Context) []wire.Message {
			if len(b.script.requests) == 3 {
				return []wire.Message{user("more")} // it can have a run of its own
			}
			return nil
		}
		e := b.Do(context.Background())
		if e.Outcome != wire.OK || e.Err != nil || len(e.Final) != 1 || e.Final[0].PlainText() != "done" {
			t.Errorf("%s: %+v", name, e)
		}
		for _, typ := range b.types() {
			if typ == wire.BudgetExceeded {
				t.Errorf("%s: a trip was told", name)
			}
		}
	}
}

// The time is up also for what hangs, and by the limit of a parent too.
func TestBudget_the_duration_ends_what_hangs(t *testing.T) {
	hang := Tool{ToolSpec: ToolSpec{Name: "hang"}, Run: func(ctx context.Context, _ json.RawMessage, _ func(string)) (Result, error) {
		<-ctx.Done()
		return Result{}, errors.New("ended")
	}}
	silent := func(ctx context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		emit(Delta{Text: "half"})
		<-ctx.Done()
		return wire.Message{}, trouble(Transient, 0)
	}
	for name, first := range map[string]step{"a tool": says(call("a", "hang", "{}")), "a model call": silent} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench([]Tool{hang}, first, says(text("too late")))
				b.Idle = time.Hour
				parent := NewMeter(Limits{Duration: 3 * time.Minute}, nil)
				b.Meter = NewMeter(Limits{Duration: 5 * time.Minute}, parent)
				start := time.Now()
				e := b.Do(context.Background())
				if took := time.Since(start); e.Outcome != wire.OverBudget || took != 3*time.Minute {
					t.Fatalf("%+v after %v", e, took)
				}
				if want := "180000ms >= 180000ms limit"; e.Err.Error() != want {
					t.Errorf("%v, want %s", e.Err, want)
				}
				lawful(t, b.all(e))
			})
		})
	}
}

func TestBudget_a_call_that_the_limit_ends_says_so(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		reply, work := batch(2, true, release)
		b := newBench([]Tool{work}, reply)
		b.Meter = NewMeter(Limits{Duration: time.Minute}, nil)
		e := b.Do(context.Background())
		want := "[ended at a limit of the run, 60000ms >= 60000ms limit; what the call did until then is not known]"
		if len(e.Final) != 2 || e.Final[1].PlainText() != want {
			t.Errorf("%v", texts(e.Final))
		}
		close(release)
		b.Wait()
	})
}

// A failed attempt costs too.
func TestBudget_failed_attempts_count(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failing := func(context.Context, Request, func(Delta)) (wire.Message, error) {
			return wire.Message{Usage: &wire.Usage{Input: 5, Total: 5}}, trouble(Transient, 0)
		}
		b := newBench(nil, failing, failing, says(text("never")))
		b.Meter = NewMeter(Limits{Calls: 2}, nil)
		e := b.Do(context.Background())
		if u, n := b.Meter.Spent(); e.Outcome != wire.OverBudget || u.Total != 10 || n != 2 || e.Usage.Total != 10 {
			t.Errorf("%+v, spent %+v in %d calls", e, u, n)
		}
		if len(e.Lost) != 2 || e.Lost[0].Usage.Total != 5 || e.Lost[1].Model != "model" || len(e.Final) != 0 {
			t.Errorf("lost %+v", e.Lost)
		}
	})
}

func TestBudget_without_limits_nothing_is_limited(t *testing.T) {
	b := newBench([]Tool{echo()}, busy(60)...)
	b.Meter = NewMeter(Limits{}, nil)
	if e := b.Do(context.Background()); e.Outcome != wire.OK || e.Calls != 61 {
		t.Errorf("%+v", e)
	}
}

// What children use counts against every limit above them, and a child's limit
// binds no one else.
func TestMeter_counts_up_the_tree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		root := NewMeter(Limits{}, nil)
		meters := []*Meter{root}
		parent := []int{-1}
		for range rapid.IntRange(0, 6).Draw(t, "children") {
			p := rapid.IntRange(0, len(meters)-1).Draw(t, "parent")
			meters, parent = append(meters, NewMeter(Limits{Tokens: rapid.IntRange(0, 50).Draw(t, "limit")}, meters[p])), append(parent, p)
		}
		spent := make([]int, len(meters))
		for range rapid.IntRange(0, 20).Draw(t, "calls") {
			i, n := rapid.IntRange(0, len(meters)-1).Draw(t, "who"), rapid.IntRange(0, 9).Draw(t, "tokens")
			meters[i].Add(wire.Usage{Total: n})
			for ; i >= 0; i = parent[i] {
				spent[i] += n
			}
		}
		for i, m := range meters {
			over := false
			for j := i; j >= 0; j = parent[j] {
				over = over || meters[j].limits.Tokens > 0 && spent[j] >= meters[j].limits.Tokens
			}
			if u, _ := m.Spent(); u.Total != spent[i] || (m.Check() != nil) != over {
				t.Fatalf("meter %d: %d tokens, want %d; %v, want %v", i, u.Total, spent[i], m.Check(), over)
			}
		}
	})
}

func TestLimits_are_filled_in_one_by_one(t *testing.T) {
	got := Limits{Calls: 3}.Or(AutonomousLimits)
	if want := (Limits{Calls: 3, CostUSD: 10, Duration: 10 * time.Minute}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestPrice_counts_all_four_kinds_of_token(t *testing.T) {
	u := wire.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}
	Price{Input: 1, Output: 2, CacheRead: 4, CacheWrite: 8}.Cost(&u)
	if want := (wire.Cost{Input: 1, Output: 2, CacheRead: 4, CacheWrite: 8, Total: 15}); u.Cost != want {
		t.Errorf("%+v, want %+v", u.Cost, want)
	}
	b := newBench(nil, says(text("x")))
	b.Model.Price = Price{} // a model of the user's own
	if e := b.Do(context.Background()); e.Usage.Cost.Total != 0 || e.Usage.Total != 12 {
		t.Errorf("%+v", e.Usage)
	}
}

// A server that fails slowly, or an answer that does not end, has a deadline over
// all attempts; the user is told what happened, and the text stays.
func TestFault_Q3_a_deadline_over_all_attempts(t *testing.T) {
	slow := func(ctx context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
		for range 20 {
			emit(Delta{Text: "word "})
			time.Sleep(time.Minute)
			if ctx.Err() != nil {
				return wire.Message{}, ctx.Err()
			}
		}
		return wire.Message{}, trouble(Transient, 0)
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, slow, slow, slow)
		start := time.Now()
		e := b.Do(context.Background())
		b.Wait()
		if took := time.Since(start); e.Outcome != wire.Failed || took > 31*time.Minute+time.Second {
			t.Fatalf("%+v after %v", e, took)
		}
		if want := "the model has not finished its answer within 30m0s, in 2 attempts"; !strings.HasPrefix(e.Err.Error(), want) {
			t.Errorf("%q, want %q", e.Err, want)
		}
		if len(e.Final) != 1 || !strings.HasPrefix(e.Final[0].PlainText(), "word word") {
			t.Errorf("final %v", texts(e.Final))
		}
	})
}

// A pause that would outlast the deadline is not waited for.
func TestFault_Q3_no_pause_beyond_the_deadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(nil, fails("", trouble(RateLimit, time.Minute)), says(text("never")))
		b.Deadline = 30 * time.Second
		start := time.Now()
		if e := b.Do(context.Background()); e.Outcome != wire.Failed || time.Since(start) > time.Second || !errors.As(e.Err, new(*ModelError)) {
			t.Errorf("%+v after %v", e, time.Since(start))
		}
	})
}

// A stream that dies says nothing of its usage, or all zeros; both leave what is
// known as it is.
func TestFault_Q3_usage_of_a_dead_stream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := func(u *wire.Usage) step {
			return func(ctx context.Context, _ Request, emit func(Delta)) (wire.Message, error) {
				emit(Delta{Text: "ha"})
				<-ctx.Done()
				return wire.Message{Usage: u}, ctx.Err()
			}
		}
		b := newBench(nil, dead(nil), dead(&wire.Usage{}), says(text("done")))
		e := b.Do(context.Background())
		if e.Outcome != wire.OK || e.Calls != 3 || e.Usage.Total != 12 {
			t.Errorf("%+v", e)
		}
	})
}

// A server that does not say what a call has used, or says what cannot be, undoes no
// limit.
func TestBudget_holds_whatever_the_server_says(t *testing.T) {
	for name, used := range map[string]*wire.Usage{
		"nothing": nil, "zero": {}, "less than nothing": {Input: -1000, Output: -1000, Total: -2000},
		"more than a number can hold": {Input: math.MaxInt, Output: math.MaxInt, Total: math.MaxInt},
	} {
		t.Run(name, func(t *testing.T) {
			steps := busy(40)
			for i, s := range steps {
				steps[i] = func(ctx context.Context, r Request, emit func(Delta)) (wire.Message, error) {
					m, err := s(ctx, r, emit)
					m.Usage = nil
					if used != nil {
						u := *used
						m.Usage = &u
					}
					return m, err
				}
			}
			b := newBench([]Tool{echo()}, steps...)
			b.Meter = NewMeter(Limits{Tokens: 500}, nil)
			if e := b.Do(context.Background()); e.Outcome != wire.OverBudget || !strings.Contains(e.Err.Error(), " tokens >= 500 limit") {
				t.Errorf("%s: %v", e.Outcome, e.Err)
			}
		})
	}
}
