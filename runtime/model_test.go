package runtime_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mikan/adapters/fake"
	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/wire"
)

// useModel makes a scripted server the model of the lab, at a dollar for a million
// tokens of each kind. more are further settings.
func (l *lab) useModel(s *modeltest.Server, more string) {
	l.t.Helper()
	l.write("models.json", fmt.Sprintf(`{"providers":{"lab":{"baseUrl":%q,"api":"anthropic-messages","apiKey":"k","models":[
		{"id":"m","reasoning":true,"cost":{"input":1,"output":1,"cacheRead":1,"cacheWrite":1}}]}}}`, s.URL))
	l.write("settings.json", `{"llm":{"provider":"lab","model":"m"}`+more+`}`)
}

// What an attempt has used that broke off counts for the session, the office and
// the run alike.
func TestUsage_counts_attempts_that_failed(t *testing.T) {
	l := newLab(t)
	use := modeltest.Usage{Input: 1000, Output: 100, CacheRead: 10, CacheWrite: 1}
	model := modeltest.NewAnthropic(t,
		modeltest.Turn{Text: "broken", Usage: use, BreakAfter: 400},
		modeltest.Turn{Text: "whole", Usage: use},
	)
	l.useModel(model, "")
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	if got := answer(t, s, "go"); !strings.Contains(got, "whole") {
		t.Fatalf("answer %q", got)
	}
	usage, err := s.Usage(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	total, rest, _ := strings.Cut(string(usage), "model lab/m ")
	perModel, last, _ := strings.Cut(rest, "last ")
	if !strings.HasPrefix(total, "input 2000\n") || !strings.HasSuffix(total, "calls 2\n") || perModel != last {
		t.Errorf("usage\n%s", usage)
	}
}

// A person sees what is said, never what was thought.
func TestFault_21_36_thoughts_and_usage_are_not_posted(t *testing.T) {
	l := newLab(t)
	model := modeltest.NewAnthropic(t,
		modeltest.Turn{Thinking: "a secret plan", Signature: "c2ln", Text: "the answer"},
		modeltest.Turn{Thinking: "a secret plan", Signature: "c2ln", Text: "[SILENT]"},
		modeltest.Turn{Thinking: "only thoughts", Signature: "c2ln"},
	)
	l.useModel(model, "")
	c := l.join(l.start(), "bus", fake.NewBus())
	for range 3 {
		c.say("C1", "go")
		c.quiet()
	}
	same(t, "posted", c.bus.Answers("C1"), []string{"the answer"})
}

// /new and a stop reach a run while it is being prepared, and what is ended then
// writes nothing.
func TestFault_21_15_a_run_in_preparation_is_ended(t *testing.T) {
	for _, verb := range []string{"stop", "new"} {
		l := newLab(t)
		making, works := l.heavy()
		rt := l.start()
		c := l.office(rt, "demo")
		s := session(t, c, "main")
		a := prompt(t, s, "first words")
		<-making
		works.Store(true)
		if err := c.Command(ctx(t), ann, verb); err != nil {
			t.Fatal(err)
		}
		if got, err := read(t, a.Answer); err != nil || got != "" {
			t.Errorf("%s: %q, %v", verb, got, err)
		}
		answer(t, s, "second words")
		if text := transcriptOf(t, s); strings.Contains(text, "first words") {
			t.Errorf("%s: transcript\n%s", verb, text)
		}
	}
}

// A run that /new has ended writes nothing into the branch that begins after it.
func TestFault_21_16_a_run_ended_by_new_does_not_write_on(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	running := prompt(t, s, "$ trap '' TERM; touch ready; sleep 600 & wait; echo late")
	eventually(t, "the command", exists(filepath.Join(c.Dir, "ready")))
	if err := c.Command(ctx(t), runtime.Actor{ID: "local:ann"}, "new"); err != nil {
		t.Fatal(err)
	}
	next := prompt(t, s, "second words")
	for _, a := range []runtime.Accepted{running, next} {
		if _, err := read(t, a.Answer); err != nil {
			t.Fatal(err)
		}
	}
	_, after, found := strings.Cut(transcriptOf(t, s), wire.CustomReset)
	if !found || strings.Contains(after, "toolResult") || strings.Count(after, `"role":`) != 2 {
		t.Errorf("after the reset:\n%s", after)
	}
}
