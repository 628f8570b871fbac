package runtime_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/harness"
	"mikan/runtime"
	"mikan/runtime/store"
)

const threeCommands = "$ echo one\n$ echo two\n$ echo three"

func (l *lab) budget(budget string) {
	l.write("settings.json", `{"llm":{"provider":"demo","model":"echo"},"budget":`+budget+`}`)
}

func TestBudget_is_the_office_s_over_the_daemon_s(t *testing.T) {
	l := newLab(t)
	l.budget(`{"calls":2}`)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	_, err := read(t, prompt(t, s, threeCommands).Answer)
	if !errors.Is(err, fs.IO) || err.Error() != "budget: 2 LLM calls >= 2 limit" {
		t.Fatalf("err %v", err)
	}
	if st := status(t, s); !strings.Contains(st, "last budget\nerror 2 LLM calls >= 2 limit\n") {
		t.Errorf("status\n%s", st)
	}
	if err := c.SetSettings(ctx(t), []byte(`{"budget":{"calls":9}}`)); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, threeCommands); !strings.Contains(got, "three") {
		t.Errorf("answer %q", got)
	}
	usage, err := s.Usage(ctx(t))
	if err != nil || !strings.Contains(string(usage), "\nlast input ") || !strings.HasSuffix(string(usage), " calls 4\n") || !strings.Contains(string(usage), "\ncalls 6\n") {
		t.Errorf("usage\n%s%v", usage, err)
	}
	office, err := c.Usage(ctx(t))
	if err != nil || string(office) != string(usage) {
		t.Errorf("the office's usage\n%s%v", office, err)
	}
}

// A person who waits has no limit that nobody set; what nobody waits for has.
func TestBudget_of_an_autonomous_run(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	var many strings.Builder
	for i := range harness.AutonomousLimits.Calls {
		fmt.Fprintf(&many, "$ echo %d\n", i)
	}
	answer(t, s, many.String())
	event := runtime.Actor{ID: "event:daily", Name: "daily", Origin: "event"}
	a, err := s.Prompt(ctx(t), event, store.KindPrompt, many.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, a.Answer); err == nil || err.Error() != "budget: 50 LLM calls >= 50 limit" {
		t.Errorf("err %v", err)
	}
}

func TestFault_Q1_what_waits_behind_a_run_over_budget_is_run(t *testing.T) {
	l := newLab(t)
	l.budget(`{"calls":1}`)
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", threeCommands)
	c.say("C1", "B")
	same(t, "answers", c.answers("C1", 2), []string{"budget: 1 LLM calls >= 1 limit", "demo: B"})
}

// A command that hangs is ended with the run's time, and what waits behind it runs.
func TestFault_Q1_what_waits_behind_a_run_whose_time_is_up_is_run(t *testing.T) {
	l := newLab(t)
	l.budget(`{"durationMs":1000}`)
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "$ trap '' TERM; sleep 600")
	c.say("C1", "B")
	answers := c.answers("C1", 2)
	if !regexp.MustCompile(`^budget: [1-9][0-9]{3,}ms >= 1000ms limit$`).MatchString(answers[0]) || answers[1] != "demo: B" {
		t.Errorf("answers %q", answers)
	}
	if log := c.read("offices/bus/C1/sessions/main/transcript"); !strings.Contains(log, "Command was ended at a limit of the run, ") {
		t.Errorf("transcript\n%s", log)
	}
}
