package runtime_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// What the settings of the daemon and of the office say of skills decides what
// the model is offered: one list after the other.
func TestSkills_are_chosen_by_both_settings(t *testing.T) {
	l := newLab(t)
	server := modeltest.NewAnthropic(t, modeltest.Turn{Text: "one"}, modeltest.Turn{Text: "two"})
	l.use(modelServers[0], server)
	settings, err := os.ReadFile(filepath.Join(l.ws.StateDir, "settings.json"))
	if err != nil {
		t.Fatal(err)
	}
	l.write("settings.json", strings.Replace(string(settings), `{`, `{"skills":["!*","-deploy"],`, 1))
	for _, name := range []string{"deploy", "pdf", "mail"} {
		dir := filepath.Join(l.ws.Root, "skills", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: "+name+"\ndescription: about "+name+"\n---\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rt := l.start()
	c := l.office(rt, "demo")
	s := session(t, c, "main")
	offered := func(text string) (names string) {
		t.Helper()
		answer(t, s, text)
		r := server.Requests()
		body := string(r[len(r)-1].Body)
		for _, name := range []string{"deploy", "pdf", "mail"} {
			if strings.Contains(body, "about "+name) {
				names += name + " "
			}
		}
		return names
	}
	if got := offered("hello"); got != "" {
		t.Errorf("the daemon's list leaves %q", got)
	}
	if err := os.WriteFile(c.Settings, []byte(`{"skills":["+pdf","+deploy"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := offered("and now?"); got != "deploy pdf " {
		t.Errorf("both lists leave %q", got)
	}
}
