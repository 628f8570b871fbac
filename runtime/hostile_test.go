package runtime_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// Numbers that cannot be do not reach the store, nor undo a limit.
func TestUsage_that_cannot_be_breaks_nothing(t *testing.T) {
	for name, use := range map[string]modeltest.Usage{
		"huge":     {Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64},
		"negative": {Input: -1 << 40, Output: -1 << 40},
	} {
		for api, make := range map[string]func(testing.TB, ...modeltest.Turn) *modeltest.Server{
			"anthropic-messages": modeltest.NewAnthropic, "openai-completions": modeltest.NewOpenAI,
		} {
			t.Run(name+" "+api, func(t *testing.T) {
				l := newLab(t)
				model := make(t, modeltest.Turn{Text: "one", Usage: use}, modeltest.Turn{Text: "two", Usage: use}, modeltest.Turn{Text: "three", Usage: use})
				l.useModel(model, `,"budget":{"tokens":1000000}`)
				l.rewrite("models.json", "anthropic-messages", api)
				c := l.office(l.start(), "demo")
				s := session(t, c, "main")
				for _, want := range []string{"one\n", "two\n", "three\n"} {
					if got := answer(t, s, "go"); got != want {
						t.Fatalf("%q, want %q", got, want)
					}
				}
				usage, err := s.Usage(ctx(t))
				if err != nil || strings.Contains(string(usage), "-") {
					t.Errorf("usage\n%s, %v", usage, err)
				}
			})
		}
	}
}

func (l *lab) rewrite(name, old, new string) {
	l.t.Helper()
	text, err := os.ReadFile(filepath.Join(l.ws.StateDir, name))
	if err != nil {
		l.t.Fatal(err)
	}
	l.write(name, strings.ReplaceAll(string(text), old, new))
}
