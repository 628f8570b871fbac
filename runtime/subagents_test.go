package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/harness/modeltest"
	"mikan/harness/subagents"
	"mikan/runtime/store"
)

// agent writes agents/<name>.md of the shared workspace.
func (l *lab) agent(name, text string) {
	l.t.Helper()
	dir := filepath.Join(l.ws.Root, "agents")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		l.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".md"), []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// became reads what came of the subagents in the last request that a server got.
func became(t testing.TB, s *modeltest.Server) []subagents.Result {
	t.Helper()
	all := results(t, s)
	var many struct{ Results []subagents.Result }
	var one subagents.Result
	text := []byte(all[len(all)-1])
	if err := json.Unmarshal(text, &many); err == nil && many.Results != nil {
		return many.Results
	}
	if err := json.Unmarshal(text, &one); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return []subagents.Result{one}
}

func TestSubagentsWorkWithTheOfficesComputer(t *testing.T) {
	l := newLab(t)
	lab, _ := l.scripted(calls("subagent", `{"label":"ask","dag":{"nodes":[{"id":"b","task":"$ cat a","dependsOn":["a"]},{"id":"a","task":"$ echo hello >a; pwd"}]}}`), says("done"))
	l.agent("worker", "---\nmodel: demo/echo\n---\n")
	rt := l.start()
	c := l.office(rt, "demo")
	s := use(t, session(t, c, "main"), "lab/m")
	if got := answer(t, s, "go"); got != "done\n" {
		t.Fatal(got)
	}
	list := became(t, lab)
	if len(list) != 2 || list[0].Status != subagents.Completed || list[1].Text != c.Dir || !strings.HasPrefix(list[0].Text, "hello") || list[0].Model.Provider != "demo" {
		t.Errorf("%+v", list)
	}
}

// What subagents cost is the session's, and the run's.
func TestSubagentsAreCountedWithTheirSession(t *testing.T) {
	l := newLab(t)
	_, kids := l.scripted(calls("subagent", `{"label":"ask","task":"count"}`), says("done"))
	kids.Then(modeltest.Turn{Text: "one", Usage: modeltest.Usage{Input: 40, Output: 2}})
	l.agent("worker", "---\nmodel: kids/m\nmax_cost_usd: 100\n---\n")
	rt := l.start()
	s := use(t, session(t, l.office(rt, "demo"), "main"), "lab/m")
	if got := answer(t, s, "go"); got != "done\n" {
		t.Fatal(got)
	}
	usage, err := s.Usage(ctx(t))
	if err != nil || !strings.Contains(string(usage), "input 42\noutput 4\n") || !strings.Contains(string(usage), "model kids/m input 40 output 2 cacheRead 0 cacheWrite 0 cost 40.000000 calls 1") ||
		!strings.Contains(string(usage), "last input 42 output 4 cacheRead 0 cacheWrite 0 cost 42.000000 calls 3\n") {
		t.Errorf("%s %v", usage, err)
	}
}

func TestFault_Q2_stop_ends_subagents_within_a_second(t *testing.T) {
	l := newLab(t)
	_, kids := l.scripted(calls("subagent", `{"label":"ask","tasks":[{"task":"a"},{"task":"b"},{"task":"c"}]}`))
	kids.Then(modeltest.Turn{Hang: true}, modeltest.Turn{Hang: true}, modeltest.Turn{Hang: true})
	l.agent("worker", "---\nmodel: kids/m\n---\n")
	rt := l.start()
	s := use(t, session(t, l.office(rt, "demo"), "main"), "lab/m")
	a := prompt(t, s, "go")
	for range 3 {
		<-kids.Hung()
	}
	began := time.Now()
	s.Stop()
	if _, err := read(t, a.Answer); err != nil || time.Since(began) > time.Second {
		t.Errorf("stopped after %v: %v", time.Since(began), err)
	}
	if text := transcriptOf(t, s); strings.Count(text, `\"status\":\"cancelled\"`) != 3 {
		t.Error(text)
	}
}

// Eight subagents that edit one file at the same time lose nothing of each other.
func TestEightSubagentsShareOneWriter(t *testing.T) {
	const n = 8
	l := newLab(t)
	tasks := strings.TrimSuffix(strings.Repeat(`{"task":"note"},`, n), ",")
	lab, kids := l.scripted(calls("subagent", `{"label":"ask","tasks":[`+tasks+`]}`), says("done"))
	for i := range 3 * n { // whoever asks gets the next
		kids.Then(calls("edit", fmt.Sprintf(`{"label":"note","path":"MEMORY.md","oldText":"end\n","newText":"- note %d\nend\n"}`, i)))
	}
	for range n {
		kids.Then(says("noted"))
	}
	l.agent("worker", "---\nmodel: kids/m\nmax_cost_usd: 100\n---\n")
	rt := l.start()
	c := l.office(rt, "demo")
	if err := os.WriteFile(c.Memory, []byte("end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := use(t, session(t, c, "main"), "lab/m")
	if got := answer(t, s, "go"); got != "done\n" {
		t.Fatal(got)
	}
	for _, r := range became(t, lab) {
		if r.Status != subagents.Completed {
			t.Errorf("%+v", r)
		}
	}
	data, err := os.ReadFile(c.Memory)
	if err != nil || strings.Count(string(data), "- note ") != 3*n {
		t.Errorf("%s %v", data, err)
	}
}

func TestASubagentsRequestThatIsWrongIsTheToolsError(t *testing.T) {
	l := newLab(t)
	lab, _ := l.scripted(calls("subagent", `{"label":"ask","tasks":[{"task":"go","profile":"boss"}]}`), says("done"))
	l.agent("boss", "no frontmatter")
	rt := l.start()
	s := use(t, session(t, l.office(rt, "demo"), "main"), "lab/m")
	if _, err := s.Prompt(ctx(t), ann, store.KindPrompt, "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := results(t, lab)[0]; !strings.HasPrefix(got, `there is no profile "boss"`) {
		t.Error(got)
	}
}

// A limit of the run holds for its subagents' work together with its own.
func TestTheBudgetOfARunHoldsForItsSubagents(t *testing.T) {
	l := newLab(t)
	_, kids := l.scripted(calls("subagent", `{"label":"ask","task":"count"}`))
	for i := range 5 {
		kids.Then(calls("bash", fmt.Sprintf(`{"label":"count","command":"echo %d"}`, i)))
	}
	l.agent("worker", "---\nmodel: kids/m\n---\n")
	rt := l.start()
	c := l.office(rt, "demo")
	if err := c.SetSettings(ctx(t), []byte(`{"budget":{"calls":4}}`)); err != nil {
		t.Fatal(err)
	}
	s := use(t, session(t, c, "main"), "lab/m")
	if _, err := read(t, prompt(t, s, "go").Answer); err == nil {
		t.Error("the run ended well")
	}
	if got := status(t, s); !strings.Contains(got, "last budget\nerror 4 LLM calls >= 4 limit\n") {
		t.Error(got)
	}
	if text := transcriptOf(t, s); !strings.Contains(text, `\"status\":\"budget_exceeded\"`) || kids.Left() != 2 {
		t.Errorf("%d turns left; %s", kids.Left(), text)
	}
}

func TestHooksKnowTheToolsOfARun(t *testing.T) {
	l := newLab(t)
	c := l.office(l.start(), "demo")
	if err := c.Hooks().Command(ctx(t), "only tool_call bash,start_task,subagent,task_status"); err != nil {
		t.Error(err)
	}
}
