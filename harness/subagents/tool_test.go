package subagents

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mikan/harness"
	"mikan/wire"
)

func TestOneTask(t *testing.T) {
	c := newCrew(t, map[string]act{"count": calls("bash", `{"label":"look","command":"wc"}`, "three lines")})
	r := c.use(t.Context(), t, `{"label":"x","task":"count lines","input":{"file":"a"}}`)[0]
	if r.Status != Completed || r.Text != "three lines" || r.Error != "" || r.Label != "x" || len(r.RunID) < 16 {
		t.Errorf("%+v", r)
	}
	if r.Model != (Model{"test", "model"}) || r.Turns != 2 || r.ToolCalls != 1 || r.ToolCallCounts["bash"] != 1 || r.Tokens != 24 || r.Usage.Total != 24 || r.CostUSD != 2 {
		t.Errorf("%+v", r)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the tool jev") {
		t.Errorf("notes: %q", r.Notes)
	}
	first := c.script.requests[0]
	if got := c.script.prompt("count"); got != "count lines\n\nInput:\n{\"file\":\"a\"}" {
		t.Errorf("asked %q", got)
	}
	if first.Thinking != "high" || len(first.Tools) != 4 || !strings.Contains(first.System, "Working directory: /work") || !strings.HasPrefix(first.Session, "office/main/") {
		t.Errorf("%+v", first)
	}
	if u, n := c.Meter.Spent(); u.Total != 24 || n != 2 || len(c.spent) != 2 || c.spent[1].Usage.Cost.Total != 1 {
		t.Errorf("the parent has counted %+v in %d calls; kept are %+v", u, n, c.spent)
	}
}

func TestASubagentSeesTheConversationOnlyIfItIsGivenIt(t *testing.T) {
	c := newCrew(t, map[string]act{"go": says("ok"), "again": says("ok")})
	message := func(role, text string) wire.Message {
		return wire.Message{Role: role, Content: []wire.Part{wire.TextPart(text)}}
	}
	c.History = func() []wire.Message {
		return []wire.Message{
			wire.SummaryMessage(wire.Entry{Summary: "before that"}),
			message(wire.User, "one"), message(wire.Assistant, "a1"),
			message(wire.User, "two"), message(wire.Assistant, ""), message(wire.ToolResult, "secret"), message(wire.Assistant, "a2"),
			message(wire.User, strings.Repeat("é", 5000)),
		}
	}
	c.use(t.Context(), t, `{"label":"x","tasks":[{"task":"go"},{"task":"again","parentContext":{"mode":"normalized","recentTurns":2}}]}`)
	if got := c.script.prompt("go"); got != "go" {
		t.Errorf("without: %q", got)
	}
	got := c.script.prompt("again")
	if !strings.Contains(got, "Summary: before that\n\nUser: two\n\nAgent: a2\n\nUser: éé") || strings.Contains(got, "one") || strings.Contains(got, "secret") || !strings.HasSuffix(got, "é [cut off]\n\nYour task:\n\nagain") {
		t.Errorf("with: %q", got)
	}
}

// What goes with a person's message, such as what was said in the chat before, may
// be much, and is not what the person has said.
func TestASubagentSeesWhatAPersonSaidWithoutItsNotes(t *testing.T) {
	got := normalized([]wire.Message{{Role: wire.User, Content: []wire.Part{
		wire.TextPart(strings.Repeat("said in the chat\n", 1000)), wire.TextPart("[ann]: do it"), {Type: wire.Image},
	}}}, 1)
	if got != "User: [ann]: do it" {
		t.Errorf("%.100q… of %d bytes", got, len(got))
	}
}

func TestOutputSchema(t *testing.T) {
	acts := map[string]act{}
	for word, text := range map[string]string{
		"fits": ` {"n": 12345678901234567890} `, "prose": `Here: {"n":1}`, "fence": "```json\n{\"n\":1}\n```",
		"twice": `{"n":1}{"n":2}`, "wrong": `{"n":"1"}`, "empty": " \n",
	} {
		acts[word] = says(text)
	}
	c := newCrew(t, acts)
	for word, status := range map[string]Status{"fits": Completed, "prose": InvalidOutput, "fence": InvalidOutput, "twice": InvalidOutput, "wrong": InvalidOutput, "empty": Failed} {
		r := c.use(t.Context(), t, `{"label":"x","task":"`+word+`","outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)[0]
		if r.Status != status || (r.Error == "") != (status == Completed) {
			t.Errorf("%s: %+v", word, r)
		}
		if word == "fits" && string(r.Output) != `{"n":12345678901234567890}` {
			t.Errorf("output %s", r.Output)
		}
	}
	if !strings.Contains(c.script.prompt("fits"), `fits this JSON Schema`) {
		t.Error("the subagent is not told of the schema")
	}
}

// One that fails, and one whose profile cannot work, leave the others alone.
func TestFault_21_32_one_failure_orphans_no_sibling(t *testing.T) {
	begun := make(chan struct{}, 8)
	go1 := make(chan struct{})
	c := newCrew(t, map[string]act{
		"fail": breaks, "panic": func(context.Context, int, harness.Request) (wire.Message, error) { panic("inside") },
		"slow": func(ctx context.Context, n int, r harness.Request) (wire.Message, error) {
			begun <- struct{}{}
			<-go1
			return says("late")(ctx, n, r)
		},
	})
	c.Profiles = func() []Profile {
		return append(Builtin(), Profile{Name: "broken", Model: "no/model", Tools: []string{}, Limits: Default})
	}
	c.Choose = func(context.Context, string) (Brain, error) { return Brain{}, errors.New("no such model") }
	go func() { <-begun; close(go1) }()
	list := c.use(t.Context(), t, `{"label":"x","tasks":[{"task":"fail"},{"task":"panic"},{"task":"go","profile":"broken"},{"task":"slow"}]}`)
	want(t, list, Failed, Failed, Failed, Completed)
	for i, text := range []string{"the model refuses", "failed inside", "the model of the profile broken: no such model"} {
		if !strings.Contains(list[i].Error, text) {
			t.Errorf("%d: %q, want %q", i, list[i].Error, text)
		}
	}
}

func TestAProfileThatIsNotThere(t *testing.T) {
	c := newCrew(t, nil)
	_, err := Tool(c.Parent).Run(t.Context(), json.RawMessage(`{"label":"x","task":"go","profile":"data-scientists"}`), func(string) {})
	if err == nil || !strings.Contains(err.Error(), "did you mean data-scientist?") || !strings.Contains(err.Error(), "summarizer") {
		t.Error(err)
	}
}

func TestHooksAreAskedAboutTheCallsOfSubagents(t *testing.T) {
	c := newCrew(t, map[string]act{"go": calls("bash", `{"command":"rm"}`, "done")})
	c.Hooks.Call = func(_ context.Context, call *wire.Part) error { return errors.New("not " + call.Name) }
	c.Hooks.Start = func(context.Context, *harness.Start) error { return errors.New("asked at the start") }
	want(t, c.use(t.Context(), t, `{"label":"x","task":"go"}`), Completed)
	msgs := c.script.requests[1].Messages
	if got := msgs[len(msgs)-1]; !got.IsError || got.PlainText() != "refused: not bash" {
		t.Errorf("%+v", got)
	}
}

// An attempt that failed after it had cost something counts, too.
func TestFailedAttemptsAreCounted(t *testing.T) {
	c := newCrew(t, map[string]act{"go": func(context.Context, int, harness.Request) (wire.Message, error) {
		return wire.Message{Usage: &wire.Usage{Input: 5, Total: 5}}, &harness.ModelError{Trouble: harness.Refused, Text: "no"}
	}})
	want(t, c.use(t.Context(), t, `{"label":"x","task":"go"}`), Failed)
	if len(c.spent) != 1 || c.spent[0].Usage.Total != 5 {
		t.Errorf("%+v", c.spent)
	}
}

func TestNoNesting(t *testing.T) {
	c := newCrew(t, map[string]act{"go": calls(Name, `{"task":"go"}`, "done")})
	c.Profiles = func() []Profile {
		list, _ := Load([]harness.Document{{Name: "boss", Fields: map[string]string{"tools": "subagent, bash"}, Body: "Lead."}})
		return list
	}
	r := c.use(t.Context(), t, `{"label":"x","task":"go","profile":"boss"}`)[0]
	if r.Status != Completed || len(c.script.requests[0].Tools) != 1 || !strings.Contains(strings.Join(r.Notes, " "), "the tool subagent") {
		t.Errorf("%+v", r)
	}
}

func TestStopEndsAllWithinTheGrace(t *testing.T) {
	begun := make(chan struct{}, 8)
	c := newCrew(t, map[string]act{"hang": hangs(begun), "deaf": calls("bash", `{}`, "")})
	hear, deaf := make(chan struct{}), make(chan struct{})
	c.Tools[0].Run = func(context.Context, json.RawMessage, func(string)) (harness.Result, error) {
		close(deaf)
		<-hear // whatever the context says
		return harness.Result{}, nil
	}
	ctx, stop := context.WithCancelCause(t.Context())
	var stopped time.Time
	go func() {
		<-begun
		<-deaf
		stopped = time.Now()
		stop(harness.ErrStopped)
	}()
	list := c.use(ctx, t, `{"label":"x","tasks":[{"task":"hang"},{"task":"deaf"}]}`)
	took := time.Since(stopped)
	close(hear)
	want(t, list, Cancelled, Cancelled)
	if took > time.Second {
		t.Errorf("it took %v", took)
	}
	if list[0].CleanupPending || list[0].Error != "stopped" || !list[1].CleanupPending {
		t.Errorf("%+v", list)
	}
}

func TestTimeout(t *testing.T) {
	c := newCrew(t, map[string]act{"hang": hangs(make(chan struct{}, 1))})
	c.Profiles = func() []Profile {
		p := Builtin()
		p[0].Limits.Duration = 20 * time.Millisecond
		return p
	}
	r := c.use(t.Context(), t, `{"label":"x","task":"hang"}`)
	want(t, r, Timeout)
	if !strings.HasSuffix(r[0].Error, "ms >= 20ms limit") {
		t.Error(r[0].Error)
	}
}

func TestBudgetsHoldUpAndDown(t *testing.T) {
	forever := func(_ context.Context, n int, _ harness.Request) (wire.Message, error) {
		return calls("bash", `{}`, "")(t.Context(), 0, harness.Request{})
	}
	for _, tt := range []struct {
		name   string
		parent harness.Limits
		child  harness.Limits
		budget string
		reason string
		turns  int
	}{
		{"turns", harness.Limits{}, harness.Limits{Calls: 3}, "", "3 LLM calls >= 3 limit", 3},
		{"tokens", harness.Limits{}, harness.Limits{Tokens: 30}, "", "36 tokens >= 30 limit", 3},
		{"more tokens", harness.Limits{}, harness.Limits{Tokens: 30}, `,"budget":{"maxTokens":40}`, "48 tokens >= 40 limit", 4},
		{"fewer tokens", harness.Limits{}, harness.Limits{Tokens: 30}, `,"budget":{"maxTokens":1}`, "36 tokens >= 30 limit", 3},
		{"cost", harness.Limits{}, harness.Limits{CostUSD: 2}, "", "cost 2.0000 USD >= 2.0000 USD limit", 2},
		{"the parent's", harness.Limits{Tokens: 24}, harness.Limits{Calls: 9}, "", "24 tokens >= 24 limit", 2},
	} {
		c := newCrew(t, map[string]act{"go": forever})
		c.Meter = harness.NewMeter(tt.parent, nil)
		c.Profiles = func() []Profile {
			p := Builtin()
			p[0].Limits = tt.child
			p[0].Limits.Duration = time.Hour
			return p
		}
		r := c.use(t.Context(), t, `{"label":"x","task":"go"`+tt.budget+`}`)[0]
		if r.Status != BudgetExceeded || r.Error != tt.reason || r.Turns != tt.turns {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if u, _ := c.Meter.Spent(); u.Total != r.Tokens || r.Tokens != 12*tt.turns {
			t.Errorf("%s: the parent has counted %d tokens of %d", tt.name, u.Total, r.Tokens)
		}
	}
}

func TestCombine(t *testing.T) {
	a := harness.Limits{Calls: 5, CostUSD: 1, Duration: time.Minute, Tokens: 10}
	for _, tt := range []struct{ request, want harness.Limits }{
		{harness.Limits{}, a},
		{harness.Limits{Calls: 9, CostUSD: 2, Duration: time.Hour, Tokens: 20}, harness.Limits{Calls: 5, CostUSD: 1, Duration: time.Minute, Tokens: 20}},
		{harness.Limits{Calls: 1, CostUSD: .5, Duration: time.Second, Tokens: 5}, harness.Limits{Calls: 1, CostUSD: .5, Duration: time.Second, Tokens: 10}},
	} {
		if got := Combine(a, tt.request); got != tt.want {
			t.Errorf("%+v: %+v, want %+v", tt.request, got, tt.want)
		}
	}
}

// OpenAI's servers take no longer description of a tool.
func TestTool_is_described_in_1024_characters(t *testing.T) {
	if n := utf8.RuneCountInString(Tool(Parent{}).Description); n > 1024 {
		t.Errorf("%d characters", n)
	}
}
