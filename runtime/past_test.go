package runtime_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mikan/harness/modeltest"
	"mikan/wire"
)

// withModel makes the lab's model a scripted server.
func withModel(t *testing.T, l *lab, turns ...modeltest.Turn) *modeltest.Server {
	t.Helper()
	m := modeltest.NewOpenAI(t, turns...)
	l.write("settings.json", `{"llm":{"provider":"script","model":"m"}}`)
	l.write("models.json", fmt.Sprintf(`{"providers":{"script":{"baseUrl":%q,"api":"openai-completions","apiKey":"none","models":[{"id":"m"}]}}}`, m.URL))
	return m
}

func lookUp(args string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: "c" + fmt.Sprint(len(args)), Name: "history", Arguments: args}}}
}

// results are the outputs of the tool history in a session.
func pastResults(t *testing.T, text string) (list []string) {
	t.Helper()
	for line := range strings.Lines(text) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && e.Message.ToolName == "history" {
			list = append(list, e.Message.PlainText())
		}
	}
	return list
}

// The agent finds what was said in its office before it started afresh, in
// whatever session and script, and nothing of another office.
func TestHistory_finds_what_the_context_has_not(t *testing.T) {
	l := newLab(t)
	withModel(t, l, modeltest.Turn{Text: "the cactus is called ヨシダ"}, modeltest.Turn{Text: "not for the others"},
		lookUp(`{"label":"x","action":"search","query":"シダ"}`),
		lookUp(`{"label":"x","action":"search","query":"others"}`),
		lookUp(`{"label":"x","action":"read","session":"main","limit":4}`),
		lookUp(`{"label":"x","action":"sessions"}`),
		lookUp(`{"label":"x","action":"chat","query":"plant"}`),
		modeltest.Turn{Text: "found"})
	rt := l.start()
	c, other := l.office(rt, "demo"), l.office(rt, "other")
	answer(t, session(t, c, "main"), "name my plant")
	answer(t, session(t, other, "main"), "a secret of others")
	for _, line := range []string{"new", "rename greenhouse"} {
		if err := c.Command(ctx(t), ann, line); err != nil {
			t.Fatal(err)
		}
	}
	side, err := c.CreateSession(ctx(t), "side")
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, side, "what is it called?"); got != "found\n" {
		t.Fatalf("the answer is %q", got)
	}
	got := pastResults(t, transcriptOf(t, side))
	for i, want := range [][]string{
		{"assistant: the cactus is called ヨシダ"}, {"Nothing found."}, {"user: [", "name my plant", "ヨシダ", "started afresh"},
		{"side (id ", "[current]", "greenhouse"}, {"ann: name my plant"},
	} {
		if slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(got[i], w) }) {
			t.Errorf("look-up %d: %q, want %q", i, got[i], want)
		}
	}
}

// A session is forked from an entry of its transcript and goes on from there.
func TestFork_from_an_entry_by_its_id(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	answer(t, s, "one")
	answer(t, s, "two")
	var id string
	for line := range strings.Lines(transcriptOf(t, s)) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Message != nil && strings.Contains(e.Message.PlainText(), "demo: one") {
			id = e.ID
		}
	}
	for _, line := range []string{"fork " + id + " side", "label " + id + " the turn"} {
		if err := c.Command(ctx(t), ann, line); err != nil {
			t.Fatal(err)
		}
	}
	side := session(t, c, "side")
	answer(t, side, "three")
	if text := transcriptOf(t, side); !strings.Contains(text, "demo: one") || strings.Contains(text, "two") || !strings.Contains(text, "three") {
		t.Errorf("the fork has\n%s", text)
	}
	for _, line := range []string{"fork 0000ffff x", "fork xyz x", "label 0000ffff x"} {
		if err := c.Command(ctx(t), ann, line); err == nil || !strings.Contains(err.Error(), "no such entry") {
			t.Errorf("%s: %v", line, err)
		}
	}
}
