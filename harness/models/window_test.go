package models

import (
	"os"
	"path/filepath"
	"testing"

	"mikan/harness"
)

func TestFault_C5_a_declared_window_wins_over_a_catalogue_name(t *testing.T) {
	dir := t.TempDir()
	known := catalogue()["openai"].models[0].ID
	text := `{"providers":{
		"lab":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","models":[{"id":"` + known + `","contextWindow":8192,"maxTokens":1000},{"id":"silent"}]},
		"openai":{"models":[{"id":"` + known + `","contextWindow":9000}]}}}`
	if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{StateDir: dir, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for ref, want := range map[string]int{"lab/" + known: 8192, "lab/silent": defaultWindow, "openai/" + known: 9000} {
		if m, _, err := r.Find(ref); err != nil || m.Window != want {
			t.Errorf("%s has a window of %d, want %d: %v", ref, m.Window, want, err)
		}
	}
}

func TestCaps_are_those_of_the_address(t *testing.T) {
	m, _, err := mustLoad(t, nil, nil).Find("anthropic/" + catalogue()["anthropic"].models[0].ID)
	if err != nil || m.Caps.Body != 32_000_000 || m.Caps.Images != 100 {
		t.Errorf("%+v %v", m.Caps, err)
	}
	if caps := capsAt("http://localhost:8080/v1"); caps != (harness.Caps{}) {
		t.Errorf("%+v", caps)
	}
}
