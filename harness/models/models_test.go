package models

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"mikan/harness"
	"mikan/wire"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("MIKAN_TEST_LOGIN"); dir != "" {
		logIn(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// canary is a key that must not come out anywhere.
const canary = "sk-canary-0123456789"

// load makes a registry of a state directory with these files, in an
// environment of these variables.
func load(t *testing.T, files, env map[string]string) (*Registry, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Load(Options{
		StateDir: dir,
		Env:      func(name string) string { return env[name] },
		Ollama:   "http://127.0.0.1:1", Local: "http://127.0.0.1:1",
	})
	if err == nil {
		t.Cleanup(r.Close)
	}
	return r, err
}

func mustLoad(t *testing.T, files, env map[string]string) *Registry {
	t.Helper()
	r, err := load(t, files, env)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestLoad_of_an_empty_directory_creates_nothing(t *testing.T) {
	r := mustLoad(t, nil, nil)
	if files, err := os.ReadDir(r.stateDir); err != nil || len(files) != 0 {
		t.Errorf("%v %v", files, err)
	}
	for _, m := range r.List() {
		if ready := r.Ready(m); ready != (m.Provider == "demo") {
			t.Errorf("%s: ready %v", m, ready)
		}
		if m.Window <= 0 || m.MaxTokens <= 0 || m.API == "" || len(m.Input) == 0 || strings.HasPrefix(m.BaseURL, "$") {
			t.Errorf("%+v", m)
		}
	}
}

func TestLoad_refuses_bad_files_with_the_line(t *testing.T) {
	provider := func(body string) string {
		return "{\"providers\": {\n\"lab\": {\"baseUrl\": \"http://x/v1\", \"api\": \"openai-completions\",\n" + body + "}}}"
	}
	for _, c := range []struct {
		file, text string
		line       int
		want       string
	}{
		{"models.json", "{\n\"provider\": {}}", 2, "unknown key provider (did you mean providers?)"},
		{"models.json", "{\"providers\": {\n\"lab\": {\n\"apikey\": \"x\"}}}", 3, "unknown key providers.lab.apikey (did you mean apiKey?)"},
		{"models.json", "{\n\n", 1, "too early"},
		{"models.json", "[]", 1, "want a JSON object"},
		{"models.json", "{} {}", 1, "after the closing brace"},
		{"models.json", "{\"providers\": {\n\"lab\": {}}}", 2, "needs an api"},
		{"models.json", "{\"providers\": {\n\"lab\": {\"api\": \"openai-completions\"}}}", 2, "needs a baseUrl"},
		{"models.json", "{\"providers\": {\"lab\": {\"baseUrl\": \"http://x\",\n \"api\":\n \"openai-completion\"}}}", 3, "did you mean openai-completions?"},
		{"models.json", "{\"providers\": {\"lab\": {\"api\": \"openai-completions\",\n\"baseUrl\": \"ftp://x\"}}}", 2, "http or https"},
		{"models.json", provider(`"models": [{"id": "a"},` + "\n" + `{"id": "b", "contextWindow": 0}]`), 4, "contextWindow must be greater than 0"},
		{"models.json", provider(`"models": [{"id": "a"},` + "\n" + `{"name": "b"}]`), 4, "needs an id"},
		{"models.json", provider(`"models": [{"id": "a"},` + "\n\n" + `{"id": "a"}]`), 5, "given twice"},
		{"models.json", provider(`"models": [{"id": "a", "contextWindow": "1"}]`), 3, "want a number"},
		{"models.json", provider(`"models": [{"id": "a", "api": "openai"}]`), 3, `unknown api "openai"`},
		{"models.json", provider(`"models": [{"id": "a", "input": ["sound"]}]`), 3, `unknown input "sound"`},
		{"models.json", provider(`"models": [{"id": "a", "thinkingLevelMap": {"hi": "x"}}]`), 3, `unknown thinking level "hi"`},
		{"models.json", provider(`"compat": {"maxTokensField": "max"}`), 3, "maxTokensField must be"},
		{"models.json", provider(`"modelOverrides": {` + "\n" + `"nope": {}}`), 4, "has no model nope"},
		{"models.json", "{\"providers\": {\"demo\": {}}}", 1, "cannot be the name"},
		{"auth.json", "{\n\"anthropic\": {\"type\": \"api_key\",\n\"kee\": \"" + canary + "\"}}", 3, "unknown key kee (did you mean key?)"},
		{"auth.json", "{\n\"anthropic\": {\"type\": \"api_key\"}}", 2, "has no key"},
		{"auth.json", "{\"a\":\n{\"type\": \"token\", \"key\": \"" + canary + "\"}}", 2, `unknown type "token"`},
		{"auth.json", "{\"a\":\n{\"key\": \"" + canary + "\"}}", 2, "needs a type"},
		{"auth.json", "{\"a\":\n{\"type\": \"oauth\", \"access\": 5, \"refresh\": \"" + canary + "\"}}", 2, "strings for"},
		{"auth.json", "{\"a\":\n{\"type\": \"oauth\"}}", 2, "needs \"access\" and \"refresh\""},
		{"auth.json", "{\"a\": {\"type\": \"oauth\", \"access\": \"" + canary + "\",\n\"tokenUrl\": \"http://tokens.example\"}}", 2, "https"},
		{"auth.json", "{\"a\":\n\"" + canary + "\"}", 2, "want an object"},
		{"auth.json", "{\"a\": {\"type\": \"api_key\",\n\"key\": 5}}", 2, "want a string"},
		{"auth.json", "{\"a\": {\"type\": \"api_key\", \"key\": \"" + canary + "\"},\n\"a\": {}}", 2, "given twice"},
	} {
		_, err := load(t, map[string]string{c.file: c.text}, nil)
		var e *wire.JSONError
		if !errors.As(err, &e) || e.Line != c.line || filepath.Base(e.File) != c.file || !strings.Contains(e.Text, c.want) {
			t.Errorf("%s %q: %v; want line %d: %s", c.file, c.text, err, c.line, c.want)
		}
		if err != nil && strings.Contains(err.Error(), canary) {
			t.Errorf("the key is in %q", err)
		}
	}
}

func TestLoad_refuses_a_file_of_keys_that_others_can_read_or_that_is_no_file(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "auth.json")
	if err := os.WriteFile(name, []byte(`{}`), 0o640); err != nil {
		t.Fatal(err)
	}
	o := Options{StateDir: dir, Env: func(string) string { return "" }}
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "chmod 600 "+name) {
		t.Error(err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(o); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

const lab = `{"providers": {
	"lab": {
		"baseUrl": "http://gpu.lab:8000/v1", "api": "openai-completions",
		"headers": {"X-Team": "bots"},
		"models": [
			{"id": "claude-sonnet-4-6", "contextWindow": 8192, "maxTokens": 1024},
			{"id": "org/tiny:free", "reasoning": true, "thinkingLevelMap": {"high": "on", "low": null}, "input": ["text", "image"],
			 "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1.5}, "headers": {"X-Team": "own", "X-More": "1"}},
			{"id": "odd:high"}
		]
	},
	"anthropic": {
		"modelOverrides": {"claude-haiku-4-5-20251001": {"contextWindow": 50000, "cost": {"input": 7, "output": 7, "cacheRead": 7, "cacheWrite": 7}}},
		"models": [{"id": "claude-future-9", "contextWindow": 3000000}]
	}
}}`

func TestFind_reads_provider_model_and_level(t *testing.T) {
	r := mustLoad(t, map[string]string{"models.json": lab}, nil)
	for _, c := range []struct{ ref, id, level string }{
		{"anthropic/claude-sonnet-4-6", "claude-sonnet-4-6", ""},
		{"anthropic/claude-sonnet-4-6:high", "claude-sonnet-4-6", "high"},
		{"anthropic/claude-future-9:off", "claude-future-9", "off"},
		{"lab/org/tiny:free", "org/tiny:free", ""},
		{"lab/org/tiny:free:xhigh", "org/tiny:free", "xhigh"},
		{"lab/odd:high", "odd:high", ""},
		{"openrouter/anthropic/claude-sonnet-4.6:low", "anthropic/claude-sonnet-4.6", "low"},
		{"ollama/qwen3:8b", "qwen3:8b", ""},
		{"demo/echo", "echo", ""},
	} {
		m, level, err := r.Find(c.ref)
		if err != nil || m.ID != c.id || level != c.level {
			t.Errorf("%s: %v %q %v", c.ref, m, level, err)
		}
	}
}

func TestFind_names_what_was_probably_meant(t *testing.T) {
	r := mustLoad(t, map[string]string{"models.json": lab}, map[string]string{"ANTHROPIC_API_KEY": "x"})
	for ref, want := range map[string]string{
		"antropic/claude-sonnet-4-6":       `no provider "antropic" (did you mean anthropic?)`,
		"anthropic/claude-sonet-4-6":       "did you mean claude-sonnet-4-6?",
		"anthropic/claude-sonnet-4-6:hihg": "did you mean claude-sonnet-4-6?",
		"anthropic/haiku":                  "did you mean claude-haiku-4-5-20251001?",
		"claude-sonnet-4-6":                "write provider/model (did you mean anthropic/claude-sonnet-4-6?)",
		"lab/nothing-like-it":              `the provider lab has no model "nothing-like-it"`,
		"lab/":                             `has no model ""`,
		"":                                 "write provider/model",
		"demo/ecko":                        "did you mean echo?",
	} {
		if _, _, err := r.Find(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", ref, err, want)
		}
	}
}

func TestFault_C5_a_declared_limit_wins_over_the_catalogue(t *testing.T) {
	r := mustLoad(t, map[string]string{"models.json": lab}, nil)
	for ref, want := range map[string][2]int{
		"lab/claude-sonnet-4-6":               {8192, 1024},
		"lab/org/tiny:free":                   {128000, 16384},
		"anthropic/claude-haiku-4-5-20251001": {50000, 50000},
		"anthropic/claude-future-9":           {3000000, 16384},
		"anthropic/claude-sonnet-4-6":         {200000, 128000},
	} {
		m, _, err := r.Find(ref)
		if err != nil || m.Window != want[0] || m.MaxTokens != want[1] {
			t.Errorf("%s: window %d, answer %d, %v", ref, m.Window, m.MaxTokens, err)
		}
	}
}

func TestLoad_takes_over_what_a_model_declares(t *testing.T) {
	r := mustLoad(t, map[string]string{"models.json": lab}, nil)
	m, _, err := r.Find("lab/org/tiny:free")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%v %v %v %v %v %s", m.Levels, m.Input, m.Reasons, m.Price, m.Headers, m.BaseURL) !=
		"map[high:on] [text image] true {1 2 0.1 1.5} map[X-More:1 X-Team:own] http://gpu.lab:8000/v1" {
		t.Errorf("%+v", m)
	}
	plain, _, _ := r.Find("lab/odd:high")
	if fmt.Sprint(plain.Input, plain.Reasons, plain.Price, plain.Headers) != "[text] false {0 0 0 0} map[X-Team:bots]" {
		t.Errorf("%+v", plain)
	}
	changed, _, _ := r.Find("anthropic/claude-haiku-4-5-20251001")
	if changed.Price.Input != 7 || changed.API != "anthropic-messages" || !changed.Reasons {
		t.Errorf("%+v", changed)
	}
}

func TestCatalogue_speaks_responses_with_openai_s_own_models_that_reason(t *testing.T) {
	declared := func(provider string) string { return `{"providers": {` + provider + `}}` }
	for _, c := range []struct{ file, ref, want string }{
		{"{}", "openai/gpt-5.6-sol", "openai-responses"},
		{"{}", "openai/gpt-5.1-codex", "openai-responses"},
		{"{}", "openai/o4-mini", "openai-responses"},
		{"{}", "openai/gpt-4o", "openai-completions"},
		{"{}", "openrouter/openai/gpt-5", "openai-completions"},
		{"{}", "anthropic/claude-sonnet-4-6", "anthropic-messages"},
		{declared(`"openai": {"models": [{"id": "gpt-9", "reasoning": true}]}`), "openai/gpt-9", "openai-responses"},
		{declared(`"openai": {"models": [{"id": "gpt-9", "reasoning": true}]}`), "openai/gpt-5", "openai-responses"},
		{declared(`"openai": {"models": [{"id": "gpt-9"}]}`), "openai/gpt-9", "openai-completions"},
		{declared(`"openai": {"baseUrl": "https://api.openai.com/v1"}`), "openai/gpt-5", "openai-responses"},
		{declared(`"openai": {"baseUrl": "http://gateway/v1"}`), "openai/gpt-5", "openai-completions"},
		{declared(`"openai": {"baseUrl": "http://gateway/v1", "api": "openai-responses"}`), "openai/gpt-4o", "openai-responses"},
		{declared(`"openai": {"api": "openai-completions"}`), "openai/gpt-5", "openai-completions"},
		{declared(`"openai": {"modelOverrides": {"gpt-5": {"api": "openai-completions"}}}`), "openai/gpt-5", "openai-completions"},
		{declared(`"lab": {"baseUrl": "http://x/v1", "api": "openai-completions", "models": [{"id": "a", "api": "openai-responses"}]}`), "lab/a", "openai-responses"},
	} {
		r := mustLoad(t, map[string]string{"models.json": c.file}, map[string]string{"OPENAI_API_KEY": "k", "OPENROUTER_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
		m, _, err := r.Find(c.ref)
		if err != nil || m.API != c.want || !r.Ready(m) {
			t.Errorf("%s %s: %s, %v", c.file, c.ref, m.API, err)
			continue
		}
		p, err := r.Provider(t.Context(), m)
		if speaks := fmt.Sprintf("%T", p); err != nil || speaks != map[string]string{
			"openai-responses": "*responses.Provider", "openai-completions": "*openai.Provider", "anthropic-messages": "*anthropic.Provider"}[c.want] {
			t.Errorf("%s: %s, %v", c.ref, speaks, err)
		}
	}
}

func TestCatalogue_gives_levels_and_prices_that_providers_take(t *testing.T) {
	r := mustLoad(t, nil, nil)
	for _, c := range []struct{ ref, levels string }{
		{"anthropic/claude-opus-4-8", "map[high:high low:low max:max medium:medium minimal:low xhigh:xhigh]"},
		{"anthropic/claude-sonnet-4-6", "map[high:high low:low max:max medium:medium minimal:low xhigh:high]"},
		{"anthropic/claude-haiku-4-5-20251001", "map[]"},
		{"anthropic/claude-opus-4-5-20251101", "map[]"},
		{"openai/gpt-5.6-sol", "map[high:high low:low max:max medium:medium minimal:low off:none xhigh:xhigh]"},
		{"openai/gpt-5", "map[high:high low:low max:high medium:medium minimal:minimal xhigh:high]"},
	} {
		if m, _, err := r.Find(c.ref); err != nil || fmt.Sprint(m.Levels) != c.levels {
			t.Errorf("%s: %v %v", c.ref, m.Levels, err)
		}
	}
	for ref, want := range map[string]harness.Price{
		"anthropic/claude-opus-5":    {Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25},
		"deepseek/deepseek-v4-flash": {Input: 0.14, Output: 0.28, CacheRead: 0.0028, CacheWrite: 0.14},
		"openai/gpt-5.6-sol":         {Input: 5, Output: 30, CacheRead: 0.5, CacheWrite: 6.25},
	} {
		if m, _, err := r.Find(ref); err != nil || m.Price.CacheRead != want.CacheRead || m.Price.CacheWrite != want.CacheWrite || m.Price.Input != want.Input {
			t.Errorf("%s: %+v %v", ref, m.Price, err)
		}
	}
}

func TestLoad_lets_a_declared_provider_replace_the_one_on_this_machine(t *testing.T) {
	r := mustLoad(t, map[string]string{"models.json": `{"providers": {"ollama": {"baseUrl": "http://gpu.lab:11434/v1", "api": "openai-completions", "models": [{"id": "big"}]}}}`}, nil)
	if m, _, err := r.Find("ollama/big"); err != nil || m.BaseURL != "http://gpu.lab:11434/v1" || !r.Ready(m) {
		t.Errorf("%+v %v", m, err)
	}
	if _, _, err := r.Find("ollama/other"); err == nil {
		t.Error("a model that was not declared was found")
	}
}

func TestLoad_does_not_write(t *testing.T) {
	files := map[string]string{"models.json": lab, "auth.json": "{}"}
	r := mustLoad(t, files, nil)
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(r.stateDir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(lab, `{"anthropic": {"type": "api_key", "key": "$A"}}`)
	f.Add(`{"providers": {"a": {"models": [{}]}}}`, `{"a": {"type": "oauth", "x": 1}}`)
	f.Add(`{"providers": null}`, `null`)
	f.Add(`{"providers": {"a": null}}`, `{"a": null}`)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, modelsFile, authFile string) {
		for name, text := range map[string]string{"models.json": modelsFile, "auth.json": authFile} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		providers := map[string]*provider{"anthropic": {id: "anthropic", api: "anthropic-messages", baseURL: "http://x", models: []harness.Model{{ID: "a", API: "anthropic-messages", BaseURL: "http://x", Window: 1, MaxTokens: 1}}}}
		if readModels(filepath.Join(dir, "models.json"), providers) == nil {
			for id, p := range providers {
				for _, m := range p.models {
					if m.Window <= 0 || m.MaxTokens <= 0 || m.API == "" || m.BaseURL == "" || m.ID == "" {
						t.Errorf("%s: %+v", id, m)
					}
				}
			}
		}
		if auth, err := readAuth(filepath.Join(dir, "auth.json")); err == nil {
			for id, c := range auth {
				if c.Type == "api_key" && c.Key == "" {
					t.Errorf("%s: %v", id, c)
				}
			}
		}
	})
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for b.Loop() {
		readCatalogue() // which the first Load of a process does
		r, err := Load(Options{StateDir: dir, Env: func(string) string { return "" }})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

func ExampleRegistry_Find() {
	dir, err := os.MkdirTemp("", "mikan")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	r, err := Load(Options{StateDir: dir, Env: func(string) string { return "" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	m, level, err := r.Find("anthropic/claude-sonnet-4-6:high")
	fmt.Println(m, level, err)
	_, _, err = r.Find("anthropic/claude-sonet-4-6")
	fmt.Println(err)
	// Output:
	// anthropic/claude-sonnet-4-6 high <nil>
	// the provider anthropic has no model "claude-sonet-4-6" (did you mean claude-sonnet-4-6?)
}
