package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mikan/fs"
	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/wire"
)

// modelLab is a lab whose model is a scripted server of an API.
func modelLab(t testing.TB, api string, window int, s *modeltest.Server) *lab {
	l := newLab(t)
	l.write("models.json", fmt.Sprintf(`{"providers":{"scripted":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[{"id":"m","contextWindow":%d,"maxTokens":4096}]}}}`, s.URL, api, window))
	l.write("settings.json", `{"llm":{"provider":"scripted","model":"m"}}`)
	return l
}

func command(t testing.TB, s *runtime.Session, line string) {
	t.Helper()
	if err := s.Command(ctx(t), ann, line); err != nil {
		t.Fatal(err)
	}
}

// sameHistories fails the test unless the runner holds what the store has, byte
// for byte.
func sameHistories(t testing.TB, s *runtime.Session) []wire.Message {
	t.Helper()
	held, stored, err := s.Histories(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := json.Marshal(held) // messages that were stored can be marshalled
	two, _ := json.Marshal(stored)
	if d := cmp.Diff(string(two), string(one)); d != "" {
		t.Fatal("the runner holds something else than the store:", d)
	}
	return held
}

// asked are the texts of the requests for a summary that have reached s.
func asked(s *modeltest.Server) (n int) {
	for _, r := range s.Requests() {
		if strings.Contains(string(r.Body), "You write summaries") {
			n++
		}
	}
	return n
}

var long = strings.Repeat("a long answer ", 150) // 500 tokens, about

func TestCompact_when_idle_and_a_restart_goes_on_from_it(t *testing.T) {
	m := modeltest.NewOpenAI(t, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Text: long},
		modeltest.Turn{Text: "## Goal\nthe goal", Usage: modeltest.Usage{Input: 1000, Output: 50}})
	l := modelLab(t, "openai-completions", 100_000, m)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	for _, p := range []string{"one", "two", "three"} {
		answer(t, s, p)
	}
	sameHistories(t, s)
	feed, err := s.Feed().Open(ctx(t), &fs.Identity{}, fs.Read)
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	command(t, s, "compact")
	if e := event(t, feed, wire.SessionCompact); e.Reason != wire.CompactManual || e.Tokens < 1000 || !strings.HasPrefix(e.Text, "## Goal") || e.Session != "main" {
		t.Errorf("the feed tells %+v", e)
	}
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	context := sameHistories(t, s)
	if summary, ok := wire.SummaryOf(context[0]); !ok || summary != "## Goal\nthe goal" {
		t.Errorf("the context begins with %q", context[0].PlainText())
	}
	text := transcriptOf(t, s)
	for _, want := range []string{`{"type":"compaction",`, `"summary":"## Goal`, `"firstKeptEntryId":"`, `"details":{"readFiles":[],"modifiedFiles":[]}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript lacks %s", want)
		}
	}
	if usage, err := s.Usage(ctx(t)); err != nil || !strings.Contains(string(usage), "calls 4\n") {
		t.Errorf("usage\n%s%v", usage, err)
	}
	m.Then(modeltest.Turn{Text: "four"})
	answer(t, s, "four")
	sameHistories(t, s)
	rt.Close()

	rt = l.start()
	s = session(t, l.office(rt, "demo"), "main")
	m.Then(modeltest.Turn{Text: "five"})
	answer(t, s, "five")
	context = sameHistories(t, s)
	if _, ok := wire.SummaryOf(context[0]); !ok || len(context) > 7 {
		t.Errorf("%d messages, the first %q", len(context), context[0].PlainText())
	}
	if r := m.Refusals(); len(r) > 0 {
		t.Error(r)
	}
}

// event reads a feed until it tells of an event of that type.
func event(t testing.TB, feed fs.Handle, typ wire.EventType) wire.Event {
	t.Helper()
	buf := make([]byte, 64<<10)
	for {
		n, err := feed.(fs.Reader).Read(ctx(t), buf, 0)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(buf[:n])) {
			var e wire.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Type == typ {
				return e
			}
		}
	}
}

func TestCompact_during_a_run_happens_before_the_next_call(t *testing.T) {
	m := modeltest.NewAnthropic(t, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Text: long},
		modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "bash", Arguments: `{"command":"touch begun; until [ -e go ]; do sleep 0.02; done"}`}}},
		modeltest.Turn{Text: "the summary"}, modeltest.Turn{Text: "done"})
	l := modelLab(t, "anthropic-messages", 100_000, m)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	for _, p := range []string{"one", "two", "three"} {
		answer(t, s, p)
	}
	a := prompt(t, s, "four")
	eventually(t, "the tool", exists(filepath.Join(c.Dir, "begun")))
	command(t, s, "compact")
	if n := asked(m); n != 0 {
		t.Error("it did not wait for the turn")
	}
	if err := os.WriteFile(filepath.Join(c.Dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, a.Answer); err != nil || got != "done\n" {
		t.Fatalf("%q %v", got, err)
	}
	if n := asked(m); n != 1 || len(m.Refusals()) > 0 || m.Left() != 0 {
		t.Errorf("%d summaries, %v, %d turns left", n, m.Refusals(), m.Left())
	}
	sameHistories(t, s)
}

func TestCompact_tells_of_memory_again_that_the_system_prompt_does_not_have(t *testing.T) {
	m := modeltest.NewOpenAI(t, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Text: "summary"}, modeltest.Turn{Text: "4"}, modeltest.Turn{Text: "5"})
	l := modelLab(t, "openai-completions", 100_000, m)
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	answer(t, s, "one")
	if err := os.WriteFile(c.Memory, []byte("the cat is called Mikan"), 0o600); err != nil {
		t.Fatal(err)
	}
	answer(t, s, "two")
	answer(t, s, "three")
	command(t, s, "compact")
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	answer(t, s, "four")
	answer(t, s, "five")
	last := string(m.Requests()[5].Body)
	if n := strings.Count(last, "the cat is called Mikan"); n != 1 {
		t.Errorf("the model is told %d times: %s", n, last)
	}
}

func TestCompact_never_waits_and_a_stop_ends_it(t *testing.T) {
	m := modeltest.NewOpenAI(t, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Hang: true})
	l := modelLab(t, "openai-completions", 100_000, m)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	answer(t, s, "one")
	answer(t, s, "two")
	command(t, s, "compact")
	<-m.Hung()
	if st := status(t, s); !strings.HasPrefix(st, "state running\n") {
		t.Errorf("status\n%s", st)
	}
	a := prompt(t, s, "three")
	m.Then(modeltest.Turn{Text: "3"})
	s.Stop()
	if got, err := read(t, a.Answer); err != nil || got != "3\n" {
		t.Fatalf("%q %v", got, err)
	}
	if strings.Contains(transcriptOf(t, s), `"compaction"`) {
		t.Error("a compaction that was stopped is there")
	}
}

func TestStatus_says_how_full_the_context_is(t *testing.T) {
	m := modeltest.NewOpenAI(t, modeltest.Turn{Text: "hi", Usage: modeltest.Usage{Input: 1200, Output: 34}})
	l := modelLab(t, "openai-completions", 100_000, m)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	answer(t, s, "one")
	if st := status(t, s); !strings.Contains(st, "context 1234/100000\n") {
		t.Errorf("status\n%s", st)
	}
}

func TestCompact_in_vain_counts_what_it_cost(t *testing.T) {
	empty := modeltest.Turn{Text: " ", Usage: modeltest.Usage{Input: 1000, Output: 1}}
	m := modeltest.NewOpenAI(t, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, modeltest.Turn{Text: long}, empty, empty, modeltest.Turn{Hang: true})
	l := modelLab(t, "openai-completions", 100_000, m)
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	for _, p := range []string{"one", "two", "three"} {
		answer(t, s, p)
	}
	command(t, s, "compact")
	<-m.Hung()
	s.Stop()
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if usage, err := s.Usage(ctx(t)); err != nil || !strings.Contains(string(usage), "calls 6\n") || !strings.Contains(string(usage), "input 2000\n") {
		t.Errorf("usage\n%s%v", usage, err)
	}
}
