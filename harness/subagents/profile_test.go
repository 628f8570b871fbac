package subagents

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/harness"
)

func TestProfiles(t *testing.T) {
	var b strings.Builder
	for _, p := range Builtin() {
		fmt.Fprintf(&b, "%s: %s; %s; %d turns, %d tokens, USD %g, %v\n", p.Name, strings.Join(p.Tools, ","), p.Thinking, p.Limits.Calls, p.Limits.Tokens, p.Limits.CostUSD, p.Limits.Duration)
	}
	const limits = "; high; 100 turns, 1000000 tokens, USD 10, 10m0s\n"
	want := "worker: read,bash,edit,write,jev" + limits +
		"software-engineer: read,bash,edit,write,jev" + limits +
		"devops-engineer: read,bash,edit,write,event,sandbox" + limits +
		"data-scientist: read,bash,write,jev" + limits +
		"account-manager: read,bash,write,event" + limits +
		"business-development: read,bash,write" + limits +
		"creative-producer: read,bash,write,generate_image" + limits +
		"ad-operations-specialist: read,bash,write" + limits +
		"summarizer: jev" + limits
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
}

func document(name, body string, fields ...string) harness.Document {
	d := harness.Document{Name: name, Body: body, Fields: map[string]string{}}
	for i := 0; i < len(fields); i += 2 {
		d.Fields[fields[i]] = fields[i+1]
	}
	return d
}

func TestFilesPatchProfilesFieldByField(t *testing.T) {
	list, notes := Load([]harness.Document{
		document("worker", "", "max_turns", "5", "model", "anthropic/x", "thinking", "low"),
		document("summarizer", "Be short.", "tools", "none", "description", "sums up", "max_cost_usd", "0"),
		document("editor", "You edit.", "tools", "read, edit,read", "name", "editor", "max_tokens", "7", "max_duration_ms", "1500", "max_cost_usd", "0.5"),
	})
	if len(notes) > 0 || len(list) != len(Builtin())+1 {
		t.Fatal(notes, names(list))
	}
	got := map[string]Profile{}
	for _, p := range list {
		got[p.Name] = p
	}
	worker, summarizer := Builtin()[0], Builtin()[8]
	worker.Limits.Calls, worker.Model, worker.Thinking = 5, "anthropic/x", "low"
	summarizer.Prompt, summarizer.Tools, summarizer.Description, summarizer.Limits.CostUSD = "Be short.", []string{}, "sums up", math.SmallestNonzeroFloat64
	editor := Profile{Name: "editor", Prompt: "You edit.", Tools: []string{"read", "edit"}, Thinking: "high",
		Limits: harness.Limits{Calls: 100, Tokens: 7, CostUSD: .5, Duration: 1500 * time.Millisecond}}
	for _, want := range []Profile{worker, summarizer, editor, Builtin()[1]} {
		if d := cmp.Diff(want, got[want.Name]); d != "" {
			t.Errorf("%s: %s", want.Name, d)
		}
	}
}

func toolList(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("tool", i))
	}
	return strings.Join(names, ",")
}

func TestABadFileIsSkippedWithANote(t *testing.T) {
	for _, tt := range []struct {
		doc  harness.Document
		note string
	}{
		{document("new", "", "tools", "read"), "new.md: a new profile needs a prompt"},
		{document("new", "Go."), "new.md: a new profile needs tools"},
		{document("two words", "Go.", "tools", "none"), "the file's name is not"},
		{document("worker", "", "tools", ""), "worker.md: tools: \"\" is not a tool's name"},
		{document("worker", "", "tools", "read,,bash"), "is not a tool's name"},
		{document("worker", "", "tools", toolList(maxTools+1)), "more than 128 tools, the limit"},
		{document("worker", "", "max_turns", "0"), `max_turns: "0" is not a positive number`},
		{document("worker", "", "max_tokens", "many"), "is not a positive number"},
		{document("worker", "", "max_duration_ms", "99999999999"), "is not a positive number"},
		{document("worker", "", "max_cost_usd", "NaN"), "is not an amount"},
		{document("worker", "", "max_cost_usd", "-1"), "is not an amount"},
		{document("worker", "", "model", "opus"), "want provider/model"},
		{document("worker", "", "thinking", "hard"), "want one of off, "},
		{document("worker", "", "name", "boss"), "is not the file's name"},
		{document("worker", "", "max_turn", "5"), "max_turn: unknown key (did you mean max_turns?)"},
	} {
		list, notes := Load([]harness.Document{tt.doc})
		if len(notes) != 1 || !strings.Contains(notes[0], tt.note) {
			t.Errorf("%v: %q, want %q", tt.doc, notes, tt.note)
		}
		if len(list) != len(Builtin()) || list[8].Name != "worker" || list[8].Limits != Default {
			t.Errorf("%v changed something", tt.doc)
		}
	}
}
