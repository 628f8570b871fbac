package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/wire"
)

// Only what stands in a row counts as the same call again.
func TestGuard_counts_what_the_definition_counts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := drawCalls(t)
		var g guard
		row := 0
		for i, name := range names {
			if i > 0 && names[i-1] != name {
				row = 0
			}
			row++
			r := g.judge(call("id", name, "{}"))
			if (r.stop != "") != (row >= 10) || (r.block != "") != (row >= 5) {
				t.Fatalf("call %d, the %dth in a row: %+v", i, row, r)
			}
			if want := row == 3 || row < 5 && cycled(names[:i+1]); (r.notice != "") != want {
				t.Fatalf("call %d of %v: notice %q, want %v", i, names[:i+1], r.notice, want)
			}
		}
	})
}

// drawCalls draws calls of which many go round in circles.
func drawCalls(t *rapid.T) (names []string) {
	for len(names) < 40 {
		unit := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 1, 6).Draw(t, "unit")
		for range rapid.IntRange(1, 15).Draw(t, "times") {
			names = append(names, unit...)
		}
	}
	return names
}

// cycled is the definition: the newest 64 calls end in a cycle of 2 to 6 calls,
// itself none of a shorter one, that has been gone through 3, 6, 12 or 24 times
// since it began.
func cycled(names []string) bool {
	names = names[max(0, len(names)-64):]
	for p := 2; p <= 6; p++ {
		for _, times := range []int{3, 6, 12, 24} {
			if len(names) < p*times {
				continue
			}
			tail := names[len(names)-p*times:]
			unit := strings.Join(tail[:p], "")
			whole := strings.Join(tail, "") == strings.Repeat(unit, times)
			before := len(names) - p*times - 1
			longer := before >= 0 && names[before] == names[before+p]
			if whole && !longer && strings.Index((unit + unit)[1:], unit) == p-1 {
				return true
			}
		}
	}
	return false
}

func TestGuard_ignores_the_label_and_the_order_of_arguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := rapid.MapOf(rapid.SampledFrom([]string{"command", "path", "n", "label"}), rapid.String()).Draw(t, "args")
		plain, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		keys := rapid.Permutation(slices.Sorted(func(yield func(string) bool) {
			for k := range args {
				if !yield(k) {
					return
				}
			}
		})).Draw(t, "order")
		var fields []string
		for _, k := range keys {
			v := args[k]
			if k == "label" {
				v = "another"
			}
			x, _ := json.Marshal(v)
			fields = append(fields, fmt.Sprintf(" %q : %s", k, x))
		}
		other := "{" + strings.Join(fields, ",") + "}"
		if keyOf(call("1", "x", string(plain))) != keyOf(call("2", "x", other)) {
			t.Fatalf("%s and %s differ", plain, other)
		}
		if keyOf(call("1", "x", string(plain))) == keyOf(call("1", "y", string(plain))) {
			t.Fatal("two tools are the same")
		}
	})
}

func TestFault_P6_identical_failing_calls_are_noticed_blocked_and_ended(t *testing.T) {
	ran := 0
	failing := echo()
	failing.Run = func(context.Context, json.RawMessage, func(string)) (Result, error) {
		ran++
		return Result{}, fmt.Errorf("no such file")
	}
	var steps []step
	for i := range 20 {
		steps = append(steps, says(call("c", "echo", fmt.Sprintf(`{"label":"try %d","path":"x"}`, i))))
	}
	b := newBench([]Tool{failing}, steps...)
	e := b.Do(context.Background())
	if e.Outcome != wire.Failed || !strings.Contains(e.Err.Error(), "the same call of echo 10 times in a row") {
		t.Fatalf("%s: %v", e.Outcome, e.Err)
	}
	if ran != 4 || e.Calls != 10 {
		t.Errorf("the tool ran %d times, the model was called %d times", ran, e.Calls)
	}
	lawful(t, b.all(e))
	var results []string
	for _, m := range b.all(e) {
		if m.Role == wire.ToolResult {
			results = append(results, m.PlainText())
		}
	}
	for i, r := range results {
		if notice := strings.Contains(r, "[Notice: "); notice != (i == 2) {
			t.Errorf("result %d: %q", i+1, r)
		}
		if blocked := strings.Contains(r, "not run: "); blocked != (i >= 4) {
			t.Errorf("result %d: %q", i+1, r)
		}
	}
}

// A cycle in one reply of many calls is seen too, and what is blocked there is
// not run.
func TestFault_P6_within_one_reply(t *testing.T) {
	var calls []wire.Part
	for i := range 12 {
		calls = append(calls, call(fmt.Sprint("c", i), "echo", `{"x":1}`))
	}
	b := newBench([]Tool{echo()}, says(calls...))
	e := b.Do(context.Background())
	if e.Outcome != wire.Failed {
		t.Fatalf("%+v", e)
	}
	lawful(t, b.all(e))
	ok := 0
	for _, m := range b.journal.msgs {
		if m.Role == wire.ToolResult && !m.IsError {
			ok++
		}
	}
	if ok != 4 {
		t.Errorf("%d calls were run, want 4", ok)
	}
}

// When a person has said something the count begins anew: he may have asked for it.
func TestGuard_begins_anew_with_a_message(t *testing.T) {
	var steps []step
	for range 8 {
		steps = append(steps, says(call("c", "echo", "{}")))
	}
	b := newBench([]Tool{echo()}, append(steps, says(text("done")))...)
	b.Steer = func(context.Context) []wire.Message {
		if len(b.script.requests) == 4 {
			return []wire.Message{user("again")}
		}
		return nil
	}
	e := b.Do(context.Background())
	for _, m := range b.all(e) {
		if m.IsError {
			t.Errorf("%q", m.PlainText())
		}
	}
}
