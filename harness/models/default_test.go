package models

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestDefault_takes_the_first_key_there_is(t *testing.T) {
	auth := `{"openai": {"type": "api_key", "key": "` + canary + `"}, "anthropic": {"type": "oauth", "access": "a", "refresh": "b", "expires": 1}}`
	for _, c := range []struct {
		env             map[string]string
		auth, want, why string
	}{
		{map[string]string{"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}, "{}", "anthropic/claude-sonnet-4-6", "ANTHROPIC_API_KEY is set"},
		{map[string]string{"OPENAI_API_KEY": "b", "DEEPSEEK_API_KEY": "c"}, "{}", "openai/gpt-5.6-sol", "OPENAI_API_KEY is set"},
		{map[string]string{"OPENROUTER_API_KEY": "b"}, "{}", "openrouter/anthropic/claude-sonnet-4.6", "OPENROUTER_API_KEY is set"},
		{map[string]string{"GEMINI_API_KEY": "b"}, "{}", "gemini/gemini-3.1-pro-preview-customtools", "GEMINI_API_KEY is set"},
		{map[string]string{"DEEPSEEK_API_KEY": "b"}, "{}", "deepseek/deepseek-v4-pro", "DEEPSEEK_API_KEY is set"},
		{map[string]string{"GROQ_API_KEY": "b"}, "{}", "demo/echo", "no key is set and no server was found on this machine"},
		{map[string]string{"DEEPSEEK_API_KEY": "b"}, auth, "anthropic/claude-sonnet-4-6", "auth.json has a login for anthropic"},
		{map[string]string{"DEEPSEEK_API_KEY": "b"}, strings.Replace(auth, `"b"`, `""`, 1), "openai/gpt-5.6-sol", "auth.json has a key for openai"},
	} {
		r := mustLoad(t, map[string]string{"auth.json": c.auth}, c.env)
		m, why, err := r.Default(t.Context(), "", "")
		if err != nil || m.String() != c.want || why != c.why {
			t.Errorf("%v: %s, %s, %v", c.env, m, why, err)
		}
	}
}

func TestDefault_obeys_the_settings(t *testing.T) {
	r := mustLoad(t, nil, map[string]string{"ANTHROPIC_API_KEY": "a"})
	for _, c := range []struct{ provider, model, want, err string }{
		{"openai", "gpt-5", "openai/gpt-5", ""},
		{"openai", "", "openai/gpt-5.6-sol", ""},
		{"", "groq/qwen/qwen3-32b", "groq/qwen/qwen3-32b", ""},
		{"demo", "echo", "demo/echo", ""},
		{"demo", "", "demo/echo", ""},
		{"ollama", "llama3:8b", "ollama/llama3:8b", ""},
		{"", "gpt-5", "", "set llm.provider too"},
		{"opnai", "gpt-5", "", "did you mean openai?"},
		{"openai", "gpt-55", "", "did you mean gpt-5"},
		{"ollama", "", "", "set llm.model too"},
	} {
		m, why, err := r.Default(t.Context(), c.provider, c.model)
		switch {
		case c.err == "" && (err != nil || m.String() != c.want || why != "the settings say so"):
			t.Errorf("%+v: %s, %s, %v", c, m, why, err)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// server answers one path with a body.
func server(t *testing.T, path, body string) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestDefault_finds_a_server_on_this_machine(t *testing.T) {
	ollama := server(t, "/api/tags", `{"models":[{"name":"nomic-embed-text:latest"},{"name":"qwen3:8b"},{"name":"llama3:8b"}]}`)
	llama := server(t, "/v1/models", `{"models":[{"name":"x"}],"data":[{"id":"gguf/model","meta":{"n_ctx":8192}}]}`)
	nowhere := "http://127.0.0.1:1"
	for _, c := range []struct {
		ollama, local, want, why string
		window                   int
	}{
		{ollama, llama, "ollama/qwen3:8b", "a server answers at " + strings.TrimPrefix(ollama, "http://"), 32768},
		{nowhere, llama, "local/gguf/model", "a server answers at " + strings.TrimPrefix(llama, "http://"), 8192},
	} {
		r, err := Load(Options{StateDir: t.TempDir(), Env: func(string) string { return "" }, Ollama: c.ollama, Local: c.local})
		if err != nil {
			t.Fatal(err)
		}
		m, why, err := r.Default(t.Context(), "", "")
		if err != nil || m.String() != c.want || why != c.why || m.Window != c.window || m.MaxTokens > m.Window || !r.Ready(m) {
			t.Errorf("%+v, %s, %v", m, why, err)
		}
		if !strings.HasSuffix(m.BaseURL, "/v1") || m.API != "openai-completions" {
			t.Errorf("%+v", m)
		}
		if p, err := r.Provider(t.Context(), m); err != nil || p == nil {
			t.Error(err)
		}
		r.Close()
	}
}

func TestDefault_asks_this_machine_once_however_many_want_to_know(t *testing.T) {
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"models":[{"name":"qwen3:8b"}]}`))
	}))
	defer s.Close()
	r, err := Load(Options{StateDir: t.TempDir(), Env: func(string) string { return "" }, Ollama: s.URL, Local: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if m, _, err := r.Default(t.Context(), "", ""); err != nil || m.String() != "ollama/qwen3:8b" {
				t.Errorf("%s %v", m, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

func TestDefault_does_not_wait_for_a_server_that_hangs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	r, err := Load(Options{StateDir: t.TempDir(), Env: func(string) string { return "" }, Ollama: s.URL, Local: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	start := time.Now()
	m, _, err := r.Default(t.Context(), "", "")
	if err != nil || m.String() != "demo/echo" {
		t.Errorf("%s %v", m, err)
	}
	if d := time.Since(start); d < searchTime || d > 20*searchTime {
		t.Errorf("it took %v", d)
	}
}

func TestProvider_says_where_a_key_belongs(t *testing.T) {
	files := map[string]string{
		"auth.json": `{"groq": {"type": "api_key", "key": "$NOT_SET"}, "xai": {"type": "api_key", "key": "!echo ` + canary + ` >&2; exit 3"}}`,
		"models.json": `{"providers": {
			"lab": {"baseUrl": "http://x/v1", "api": "openai-completions", "apiKey": "pre-${LAB}", "models": [{"id": "a"}]},
			"free": {"baseUrl": "http://x/v1", "api": "openai-completions", "models": [{"id": "a"}]},
			"later": {"baseUrl": "http://x/v1", "api": "google-generative-ai", "models": [{"id": "a"}]}}}`,
	}
	r := mustLoad(t, files, map[string]string{"PATH": os.Getenv("PATH")})
	for ref, want := range map[string]string{
		"openai/gpt-5":                "no key for openai: set OPENAI_API_KEY, or put one into " + r.stateDir + "/auth.json",
		"anthropic/claude-sonnet-4-6": "no key for anthropic: set ANTHROPIC_API_KEY",
		"groq/qwen/qwen3-32b":         "the key of groq in auth.json: the environment variable NOT_SET is not set",
		"xai/grok-4.5":                "the key of xai in auth.json: its command failed: exit status 3",
		"lab/a":                       "the key of lab in models.json: the environment variable LAB is not set",
		"later/a":                     `the api "google-generative-ai", which is not supported yet`,
		"free/a":                      "",
		"demo/echo":                   "",
	} {
		m, _, err := r.Find(ref)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Provider(t.Context(), m)
		switch {
		case want == "" && (err != nil || p == nil || !r.Ready(m)):
			t.Errorf("%s: %v, ready %v", ref, err, r.Ready(m))
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary)):
			t.Errorf("%s: %v", ref, err)
		case want != "" && r.Ready(m) != (m.Provider == "xai"):
			t.Errorf("%s: ready %v", ref, r.Ready(m))
		}
	}
}

func TestProvider_gives_up_with_the_context(t *testing.T) {
	r := mustLoad(t, map[string]string{"auth.json": `{"groq": {"type": "api_key", "key": "!sleep 60 & sleep 60"}}`}, map[string]string{"PATH": os.Getenv("PATH")})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	m, _, err := r.Find("groq/qwen/qwen3-32b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Provider(ctx, m); err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}
