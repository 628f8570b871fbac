package subagents

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/harness"
	"mikan/wire"
)

func TestAGraphRunsInItsOrder(t *testing.T) {
	c := newCrew(t, map[string]act{
		"one": says(strings.Repeat("日", 5000)), "two": says("second"), "three": says("third"), "four": says("fourth"),
		"bad": breaks,
	})
	list := c.use(t.Context(), t, `{"label":"x","dag":{"nodes":[
		{"id":"d","task":"four","dependsOn":["b","c"]},
		{"id":"b","task":"two","dependsOn":["a"]},
		{"id":"c","task":"three","dependsOn":["a"]},
		{"id":"a","task":"one"},
		{"id":"y","task":"never","dependsOn":["x"]},
		{"id":"z","task":"never","dependsOn":["y"]},
		{"id":"x","task":"bad"}]}}`)
	want(t, list, Completed, Completed, Completed, Completed, Skipped, Skipped, Failed)
	if list[4].Error != "it needs the result of x, which is failed" || list[5].Error != "it needs the result of y, which is skipped" || list[0].ID != "d" {
		t.Errorf("%+v", list)
	}
	if got := c.script.prompt("four"); got != "four\n\nResult of b:\nsecond\n\nResult of c:\nthird" {
		t.Errorf("%q", got)
	}
	got := c.script.prompt("two")
	if r := []rune(strings.TrimPrefix(got, "two\n\nResult of a:\n")); len(r) != 4000 || string(r[3989:]) != "日 [cut off]" {
		t.Errorf("%d characters of the result, which end in %q", len(r), string(r[max(0, len(r)-10):]))
	}
}

func TestNoMoreThanFourOfACallAndEightOfAllWorkAtOnce(t *testing.T) {
	begun, end := make(chan struct{}, 100), make(chan struct{})
	c := newCrew(t, map[string]act{"go": func(ctx context.Context, n int, r harness.Request) (wire.Message, error) {
		begun <- struct{}{}
		<-end
		return says("ok")(ctx, n, r)
	}})
	eight := `{"label":"x","tasks":[` + strings.TrimSuffix(strings.Repeat(`{"task":"go"},`, 8), ",") + `]}`
	done := make(chan []Result, 3)
	for i := range 3 {
		go func() { done <- c.use(t.Context(), t, eight) }()
		for range []int{4, 4, 0}[i] {
			<-begun
		}
	}
	select {
	case <-begun:
		t.Error("a ninth works")
	default:
	}
	// Who waits for a slot heeds a stop.
	ctx, stop := context.WithCancelCause(t.Context())
	stop(harness.ErrStopped)
	want(t, c.use(ctx, t, `{"label":"x","task":"go"}`), Cancelled)
	close(end)
	for range 3 {
		for _, r := range <-done {
			if r.Status != Completed {
				t.Errorf("%+v", r)
			}
		}
	}
	if c.script.most != 8 || len(c.Slots) != 0 {
		t.Errorf("%d at once; %d slots are left taken", c.script.most, len(c.Slots))
	}
}

// A graph is taken exactly if it is one: ids that are unique, dependencies that
// are there, no cycle, and within the limits.
func TestOrderLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "", "x y"})
		if rapid.Bool().Draw(t, "plain") {
			id = rapid.SampledFrom([]string{"a", "b", "c", "d", "e"})
		}
		var nodes []node
		for _, name := range rapid.SliceOfN(id, 1, 9).Draw(t, "ids") {
			nodes = append(nodes, node{ID: name, DependsOn: rapid.SliceOfN(id, 0, 3).Draw(t, "needs")})
		}
		needs, err := order(nodes)
		if good := lawfulGraph(nodes); good != (err == nil) {
			t.Fatalf("%+v: %v, want good %v", nodes, err, good)
		}
		for i, n := range nodes {
			for j, dep := range n.DependsOn {
				if err == nil && nodes[needs[i][j]].ID != dep {
					t.Fatalf("%+v: %v", nodes, needs)
				}
			}
		}
	})
}

// lawfulGraph says the same as order in another way: it takes away what depends
// on nothing, layer by layer.
func lawfulGraph(nodes []node) bool {
	left, edges := map[string]map[string]bool{}, 0
	for _, n := range nodes {
		if left[n.ID] != nil || n.ID == "" || strings.Contains(n.ID, " ") {
			return false
		}
		left[n.ID] = map[string]bool{}
		for _, d := range n.DependsOn {
			if left[n.ID][d] {
				return false
			}
			left[n.ID][d] = true
			edges++
		}
	}
	for _, needs := range left {
		for d := range needs {
			if left[d] == nil {
				return false
			}
		}
	}
	for range 4 {
		var free []string
		for id, needs := range left {
			if len(needs) == 0 {
				free = append(free, id)
			}
		}
		for _, id := range free {
			delete(left, id)
			for _, needs := range left {
				delete(needs, id)
			}
		}
	}
	return len(left) == 0 && len(nodes) <= 8 && edges <= 16
}

func FuzzParse(f *testing.F) {
	f.Add(`{"label":"x","task":"go","outputSchema":{"type":"object"}}`)
	f.Add(`{"tasks":[{"task":"a"},{"task":"b","parentContext":{"mode":"normalized"}}]}`)
	f.Add(`{"dag":{"nodes":[{"id":"a","task":"x"},{"id":"b","task":"y","dependsOn":["a"]}]}}`)
	f.Add(`{"dag":{"nodes":[{"id":"a","task":"x","dependsOn":["a"]}]}}`)
	f.Fuzz(func(t *testing.T, args string) {
		steps, err := parse(json.RawMessage(args))
		if err != nil {
			return
		}
		if len(steps) < 1 || len(steps) > maxTasks {
			t.Fatalf("%d steps", len(steps))
		}
		for _, s := range steps {
			if s.task == "" || s.profile == "" || s.turns > maxRecentTurns {
				t.Fatalf("%+v", s)
			}
			if s.schema != nil {
				_, _ = output(s.schema, args)
			}
		}
	})
}

func TestARequestOverALimitNamesTheLimit(t *testing.T) {
	many := func(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	nodes := func(n int, needs func(i int) string) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`{"id":"n%d","task":"x","dependsOn":[%s]}`, i, needs(i)))
		}
		return `{"dag":{"nodes":[` + strings.Join(list, ",") + `]}}`
	}
	none := func(int) string { return "" }
	chain := func(i int) string {
		if i == 0 {
			return ""
		}
		return fmt.Sprintf(`"n%d"`, i-1)
	}
	all := func(i int) string {
		var s []string
		for j := range i {
			s = append(s, fmt.Sprintf(`"n%d"`, j))
		}
		return strings.Join(s, ",")
	}
	for args, want := range map[string]string{
		`{}`:                                  "exactly one of task, tasks and dag",
		`{"task":"x","tasks":[{"task":"y"}]}`: "exactly one of task, tasks and dag",
		`{"task":5}`:                          "bad arguments: task cannot be a JSON number",
		`{"dag":{"nodes":[{"id":"a","task":5}]}}`:       "bad arguments: dag.nodes.task cannot be a JSON number",
		`{"tasks":[` + many(9, `{"task":"x"}`) + `]}`:   "tasks has 9 entries; the limit is 8",
		`{"tasks":[{"task":"x"},{"profile":"worker"}]}`: "tasks[1].task is missing",
		`{"profile":"worker","tasks":[{"task":"x"}]}`:   "stand with each task",
		nodes(9, none):  "dag has 9 nodes; the limit is 8",
		nodes(5, chain): "dag has a chain of 5 nodes; the limit is 4",
		nodes(8, all):   "dag has more than 16 edges, the limit",
		nodes(2, func(i int) string { return fmt.Sprintf(`"n%d"`, 1-i) }):                                                                      "dag has a cycle",
		nodes(1, func(int) string { return `"n0"` }):                                                                                           "dag has a cycle: n0",
		nodes(1, func(int) string { return `"m"` }):                                                                                            `dag node n0 depends on "m", which is no node`,
		`{"dag":{"nodes":[{"id":"a b","task":"x"}]}}`:                                                                                          "is not 1 to 64 letters",
		`{"dag":{"nodes":[{"id":"a","task":"x"},{"id":"a","task":"x"}]}}`:                                                                      "the id a is taken",
		`{"task":"x","profile":"` + strings.Repeat("é", 65) + `"}`:                                                                             "profile is longer than the limit of 64 characters",
		`{"task":"x","label":"` + strings.Repeat("é", 101) + `"}`:                                                                              "label is longer than the limit of 100 characters",
		`{"task":"x","parentContext":{"mode":"normalized","recentTurns":9}}`:                                                                   "recentTurns is 9; the limit is 1 to 8",
		`{"task":"x","parentContext":{"mode":"normalized","recentTurns":0}}`:                                                                   "recentTurns is 0; the limit is 1 to 8",
		`{"task":"x","parentContext":{"mode":"all"}}`:                                                                                          "there is only normalized",
		`{"task":"x","outputSchema":[]}`:                                                                                                       "want a JSON Schema",
		`{"task":"x","outputSchema":{"type":5}}`:                                                                                               "outputSchema: ",
		`{"task":"x","outputSchema":{"allOf":[{"$ref":"#"}]}}`:                                                                                 "$ref and $dynamicRef are not supported",
		`{"task":"x","outputSchema":{"title":"` + strings.Repeat("x", maxOutputSchema) + `"}}`:                                                 "the limit is 16384",
		`{"task":"x","outputSchema":{"allOf":[{"$Ref":"#"}]}}`:                                                                                 "$ref and $dynamicRef are not supported",
		`{"task":"x","outputSchema":{"$dynamicAnchor":"x","$DYNAMICREF":"#x"}}`:                                                                "$ref and $dynamicRef are not supported",
		`{"task":"x","outputSchema":` + strings.Repeat(`{"anyOf":[`, 40) + `{}` + strings.Repeat(`]}`, 40) + `}`:                               "it is nested deeper than the limit of 64",
		`{"task":"x","outputSchema":{"allOf":[{"pattern":"` + strings.Repeat("x", 200) + `"},{"Pattern":"` + strings.Repeat("x", 57) + `"}]}}`: "its patterns have more than 256 bytes together, the limit",
		`{"task":"x","outputSchema":{"patternProperties":{"` + strings.Repeat("x", 257) + `":{}}}}`:                                            "its patterns have more than 256 bytes together, the limit",
		`{"task":"x","budget":{"maxTokens":-1}}`:                                                                                               "budget.maxTokens is less than nothing",
	} {
		if _, err := parse(json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.200s: %v, want %q", args, err, want)
		}
	}
	for _, args := range []string{nodes(8, none), nodes(4, chain), nodes(8, func(i int) string {
		if i < 4 {
			return ""
		}
		return `"n0","n1","n2","n3"`
	})} {
		if _, err := parse(json.RawMessage(args)); err != nil {
			t.Errorf("%s: %v", args, err)
		}
	}
}
