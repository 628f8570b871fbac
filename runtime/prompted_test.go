package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// put writes a file below dir.
func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// What the model is asked holds the prompt that was made for the run, with the
// memories of the day, not what was known when the session began.
func TestFault_21_2_the_prompt_of_the_run_reaches_the_model(t *testing.T) {
	for _, m := range modelServers {
		t.Run(m.api, func(t *testing.T) {
			l := newLab(t)
			server := m.make(t, modeltest.Turn{Text: "one"}, modeltest.Turn{Text: "two"}, modeltest.Turn{Text: "three"})
			l.use(m, server)
			rt := l.start()
			c := l.office(rt, "demo")
			s := session(t, c, "main")
			put(t, l.ws.Root, "MEMORY.md", "All like tea.\n")
			put(t, c.Dir, "MEMORY.md", "Ann likes plums.\n")
			for n, wanted := range [][]string{
				{"This office is local/demo", "All like tea.", "Ann likes plums.", "[ann]: what now?"},
				{"Ann likes plums.", "Ann likes pears."}, // the system prompt stays, and a note tells
				{"one", "two"},
			} {
				answer(t, s, "what now?")
				body := string(server.Requests()[n].Body)
				for _, w := range wanted {
					if !strings.Contains(body, w) {
						t.Errorf("request %d has no %q:\n%s", n, w, body)
					}
				}
				put(t, c.Dir, "MEMORY.md", "Ann likes pears.\n")
			}
			if n := strings.Count(string(server.Requests()[2].Body), "Ann likes pears."); n != 1 {
				t.Errorf("the model was told %d times", n)
			}
		})
	}
}

// The agent can write its workspace: the host runs nothing that it finds there,
// and reads nothing into the prompt but memories and skills.
func TestFault_21_3_nothing_in_the_workspace_is_run_or_taken_for_a_prompt(t *testing.T) {
	l := newLab(t)
	server := modeltest.NewAnthropic(t, modeltest.Turn{Text: "one"})
	l.use(modelServers[0], server)
	rt := l.start()
	c := l.office(rt, "demo")
	ran := filepath.Join(t.TempDir(), "ran")
	for _, dir := range []string{l.ws.Root, c.Dir} {
		for _, name := range []string{"AGENTS.md", "CLAUDE.md", "SYSTEM.md", ".pi/APPEND_SYSTEM.md", "skills/notes.txt"} {
			put(t, dir, name, "canary of a context file\n")
		}
		for _, name := range []string{".pi/extensions/x.js", ".pi/extensions/x.ts", ".pi/extensions/x", "extensions/x", "skills/x/run", "hooks/tool_call"} {
			put(t, dir, name, "#!/bin/sh\ntouch "+ran+" # canary\n")
		}
		put(t, dir, ".pi/settings.json", `{"extensions":["x"],"skills":["canary"]}`)
	}
	answer(t, session(t, c, "main"), "hello")
	if body := string(server.Requests()[0].Body); strings.Contains(body, "canary") {
		t.Errorf("the model was told of a file in the workspace: %s", body)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a file of the workspace was run")
	}
}
