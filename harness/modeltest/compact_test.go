package modeltest_test

import (
	"fmt"
	"strings"
	"testing"

	"mikan/harness/modeltest"
	"mikan/wire"
)

// aging is a session of some length, with parallel calls.
func aging(t *testing.T, a api) *journal {
	t.Helper()
	j := &journal{t: t, dir: t.TempDir()}
	for i := range 30 {
		one, two := fmt.Sprint("one", i), fmt.Sprint("two", i)
		if err := j.Append(t.Context(), user(fmt.Sprint("question ", i)),
			assistant(a, callPart(one, "read", `{"path":"/a"}`), callPart(two, "bash", `{"command":"x"}`)),
			result(one, strings.Repeat("content ", 500)), result(two, "done"),
			assistant(a, wire.TextPart(strings.Repeat("answer ", 500)))); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

func TestFault_C3_an_overflow_is_answered_with_a_compaction_that_the_server_takes(t *testing.T) {
	for _, body := range []string{
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`,
		`{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}`,
	} {
		each(t, func(t *testing.T, a api) {
			j := aging(t, a)
			s := a.server(t, modeltest.Turn{Status: 400, Body: body},
				modeltest.Turn{Text: "## Goal\nall of it", Usage: modeltest.Usage{Input: 7000, Output: 40}}, modeltest.Turn{Text: "here"})
			end := do(t, a, s, j, "go on")
			if end.Outcome != wire.OK || end.Calls != 3 || end.Usage.Input != 7000 || len(s.Refusals()) > 0 {
				t.Fatalf("%+v %q", end, s.Refusals())
			}
			last := string(s.Requests()[2].Body)
			if !strings.Contains(last, "## Goal") || strings.Contains(last, "question 0") || !strings.Contains(last, "question 29") || !strings.Contains(last, "go on") {
				t.Errorf("the call was made again with %d bytes", len(last))
			}
			paired(t, j)
		})
	}
}

func TestFault_C4_what_the_server_counts_makes_a_compaction_between_tools_and_the_next_call(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		j := aging(t, a)
		s := a.server(t,
			modeltest.Turn{Calls: []modeltest.Call{{ID: "n1", Name: "bash", Arguments: `{}`}, {ID: "n2", Name: "read", Arguments: `{}`}}, Usage: modeltest.Usage{Input: 100_000, CacheRead: 80_000, CacheWrite: 3_000, Output: 1000}},
			modeltest.Turn{Text: "## Goal\nall of it", Usage: modeltest.Usage{Input: 7000, Output: 40}},
			modeltest.Turn{Text: "here"})
		if end := do(t, a, s, j, "go on"); end.Outcome != wire.OK || len(s.Refusals()) > 0 || s.Left() != 0 {
			t.Fatalf("%+v %q", end, s.Refusals())
		}
		if body := string(s.Requests()[1].Body); !strings.Contains(body, "You write summaries") || strings.Contains(body, `"tools"`) {
			t.Error("the second request is not for a summary")
		}
		paired(t, j)
	})
}
