package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mikan/wire"
)

// shelved is a deferred tool that answers with its name.
func shelved(namespace, name, about string) Tool {
	t := echo()
	t.Name, t.Description = "mcp__"+namespace+"__"+name, about
	t.Deferred, t.Namespace = true, Namespace{Name: namespace, Description: "about " + namespace}
	return t
}

func sent(r Request) []string {
	var names []string
	for _, s := range r.Tools {
		names = append(names, s.Name)
	}
	return names
}

func TestToolSearch_loadsWhatItFindsForTheNextCall(t *testing.T) {
	tools := []Tool{
		echo(),
		shelved("git", "create_issue", "Open an issue in a repository."),
		shelved("git", "merge", "Merge a pull request."),
		shelved("mail", "send", "Send a letter."),
	}
	b := newBench(tools,
		says(call("1", "tool_search", `{"label":"find","query":"open an issue","limit":"1"}`)),
		says(call("2", "mcp__git__create_issue", `{}`)),
		says(text("done")),
	)
	if e := b.Do(context.Background()); e.Outcome != wire.OK {
		t.Fatalf("%+v", e)
	}
	reqs := b.script.requests
	if diff := cmp.Diff([]string{"echo", "tool_search"}, sent(reqs[0])); diff != "" {
		t.Errorf("first call: %s", diff)
	}
	want := []string{"echo", "mcp__git__create_issue", "tool_search"}
	for _, i := range []int{1, 2} {
		if diff := cmp.Diff(want, sent(reqs[i])); diff != "" {
			t.Errorf("call %d: %s", i, diff)
		}
	}
	search := reqs[0].Tools[1]
	if !strings.Contains(search.Description, "- git: about git\n- mail: about mail") {
		t.Errorf("the namespaces are not told: %s", search.Description)
	}

	again := newBench(tools, says(text("hello")))
	again.journal.msgs = b.journal.msgs
	again.Do(context.Background())
	if diff := cmp.Diff(want, sent(again.script.requests[0])); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
}

func TestToolSearch_aToolThatWasCalledStaysLoaded(t *testing.T) {
	b := newBench([]Tool{shelved("x", "one", "")}, says(call("1", "mcp__x__one", `{"a":1}`)), says(text("done")))
	b.Do(context.Background())
	if got := sent(b.script.requests[1]); !slices.Contains(got, "mcp__x__one") {
		t.Errorf("second call has %v", got)
	}
}

func TestToolSearch_onlyItsOwnResultsLoad(t *testing.T) {
	spoof := echo()
	spoof.Run = func(context.Context, json.RawMessage, func(string)) (Result, error) {
		return Result{Content: []wire.Part{text("x")}, Details: json.RawMessage(`{"loaded":["mcp__x__one"]}`)}, nil
	}
	b := newBench([]Tool{spoof, shelved("x", "one", "")}, says(call("1", "echo", `{}`)), says(text("done")))
	b.Do(context.Background())
	if got := sent(b.script.requests[1]); slices.Contains(got, "mcp__x__one") {
		t.Errorf("another tool loaded it: %v", got)
	}
}

func TestToolSearch_isNotThereWithoutDeferredTools(t *testing.T) {
	b := newBench([]Tool{echo()}, says(text("done")))
	b.Do(context.Background())
	if diff := cmp.Diff([]string{"echo"}, sent(b.script.requests[0])); diff != "" {
		t.Error(diff)
	}
}

func TestToolSearch_ranks(t *testing.T) {
	tools := []Tool{
		shelved("git", "listPullRequests", "List what is open."),
		shelved("git", "merge", "Merge pull requests."),
		shelved("mail", "send", "Send mail about anything."),
		shelved("wiki", "page", "读取页面内容"),
	}
	for _, c := range []struct {
		args string
		want []string
	}{
		{`{"query":"pull requests"}`, []string{"mcp__git__listPullRequests", "mcp__git__merge"}},
		{`{"query":"PULL","limit":1}`, []string{"mcp__git__listPullRequests"}},
		{`{"query":"mcp__mail__send","limit":1}`, []string{"mcp__mail__send"}},
		{`{"query":"页面"}`, []string{"mcp__wiki__page"}},
		{`{"query":"send","namespace":"git"}`, nil},
		{`{"query":"(.*"}`, nil},
		{`{"query":"zebra"}`, nil},
	} {
		r, err := newShelf(tools).find(json.RawMessage(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		var got loaded
		_ = json.Unmarshal(r.Details, &got)
		if diff := cmp.Diff(c.want, got.Loaded); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	for _, args := range []string{`{}`, `{"query":" "}`, `{"query":"x","namespace":"nowhere"}`} {
		if _, err := newShelf(tools).find(json.RawMessage(args)); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}

// What is loaded depends on the history alone, is sorted and never more than was
// found; a search never gives more than it may.
func TestToolSearch_law(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tools []Tool
		for i := range rapid.IntRange(1, 60).Draw(t, "tools") {
			tools = append(tools, shelved("s"+fmt.Sprint(i%3), fmt.Sprintf("t%02d", i), rapid.SampledFrom([]string{"alpha", "beta", "alpha beta"}).Draw(t, "about")))
		}
		query := rapid.SampledFrom([]string{"alpha", "beta", "t0", "s1 alpha", "none"}).Draw(t, "query")
		limit := rapid.IntRange(-3, 100).Draw(t, "limit")
		s := newShelf(tools)
		r, err := s.find(json.RawMessage(fmt.Sprintf(`{"query":%q,"limit":%d}`, query, limit)))
		if err != nil {
			t.Fatal(err)
		}
		c := call("1", searchName, `{}`)
		got := s.taken([]wire.Message{{Role: wire.Assistant, Content: []wire.Part{c}}, toolResult(c, r, nil)})
		if len(got) > searchMost || limit > 0 && len(got) > limit {
			t.Fatalf("%d found for a limit of %d", len(got), limit)
		}
		if !slices.IsSortedFunc(got, func(a, b ToolSpec) int { return strings.Compare(a.Name, b.Name) }) {
			t.Fatalf("not sorted: %v", got)
		}
	})
}

// A server that takes 128 tools is never told of more, however many there are and
// were found; the newest ones stay.
func TestTools_are_never_more_than_a_server_takes(t *testing.T) {
	tools := []Tool{echo()}
	var replies []step
	for i := range 100 {
		many := shelved("many", fmt.Sprintf("m%02d", i), "does much")
		many.Deferred = false
		few := shelved("few", fmt.Sprintf("f%02d", i), "does little")
		tools = append(tools, many, few)
		replies = append(replies, says(call(fmt.Sprint(i), few.Name, "{}")))
	}
	b := newBench(tools, append(replies, says(text("done")))...)
	if e := b.Do(context.Background()); e.Outcome != wire.OK {
		t.Fatalf("%+v", e)
	}
	for i, r := range b.script.requests {
		got := sent(r)
		if len(got) > 128 || !slices.Contains(got, "echo") || slices.Contains(got, "mcp__many__m00") {
			t.Fatalf("call %d: %d tools: %v", i, len(got), got)
		}
		if i > 0 && !slices.Contains(got, fmt.Sprintf("mcp__few__f%02d", i-1)) {
			t.Fatalf("call %d: the tool that was called is not there: %v", i, got)
		}
	}
}

func TestToolSearch_loadedToolsCountInTheWindow(t *testing.T) {
	big := shelved("x", "big", "big")
	big.Schema = json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 400_000) + `"}`)
	b := newBench([]Tool{big}, says(call("1", "tool_search", `{"query":"big"}`)), says(text("never")))
	if e := b.Do(context.Background()); e.Outcome != wire.Failed || len(b.script.requests) != 1 {
		t.Errorf("%+v after %d calls", e, len(b.script.requests))
	}
}

// A compaction that takes away the result of a search tells the model so, unless
// the tool was used in what is kept.
func TestToolSearch_aCompactionTellsOfTheToolsThatItPutsBack(t *testing.T) {
	tools := []Tool{shelved("x", "used", "alpha"), shelved("x", "other", "alpha")}
	b := newBench(tools,
		says(call("1", "tool_search", `{"query":"alpha"}`)), says(text("done")),
		says(text("## Goal\nthe goal")), says(call("2", "mcp__x__used", `{}`)), says(text("done")))
	b.Do(context.Background())
	b.journal.msgs = append(b.journal.msgs, exchanges(90)...)
	b.Prompt = user("again")
	if e := b.Do(context.Background()); e.Outcome != wire.OK {
		t.Fatalf("%+v", e)
	}
	after := b.script.requests[3]
	if got := sent(after); slices.Contains(got, "mcp__x__used") {
		t.Errorf("it is loaded still: %v", got)
	}
	summary, _ := wire.SummaryOf(after.Messages[0])
	if want := "tool_search, by name, before a call: mcp__x__other, mcp__x__used"; !strings.Contains(summary, want) {
		t.Errorf("no %q in %s", want, summary)
	}
	msgs := append(slices.Clone(b.journal.msgs[:4]), wire.Message{Role: wire.Assistant, Content: []wire.Part{call("3", "mcp__x__used", `{}`)}})
	if got := putBack(msgs, 4); strings.Contains(got, "used") {
		t.Errorf("of a tool that is used: %s", got)
	}
}
