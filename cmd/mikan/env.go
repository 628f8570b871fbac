package main

import (
	"fmt"
	"os"
)

type envCmd struct{}

// variables are the environment variables that mikan reads. Those that are
// secret are never printed.
var variables = []struct {
	name, help string
	secret     bool
}{
	{"MIKAN_STATE_DIR", "the state directory, as --state-dir", false},
	{"MIKAN_WORKSPACE", "the directory of the offices' files, as --workspace", false},
	{"MIKAN_SOCKET", "the daemon's socket, as --socket", false},
	{"NAMESPACE", "where Plan 9 programs find services; the daemon also listens on mikan in it", false},
	{"ANTHROPIC_API_KEY", "key of Anthropic's models", true},
	{"OPENAI_API_KEY", "key of OpenAI's models", true},
	{"OPENROUTER_API_KEY", "key of OpenRouter", true},
	{"GEMINI_API_KEY", "key of Google's models", true},
	{"DEEPSEEK_API_KEY", "key of DeepSeek's models", true},
	{"HTTPS_PROXY", "proxy for requests to model servers; also HTTP_PROXY and NO_PROXY", true},
}

// Run lists the variables and which are set.
func (envCmd) Run(std *streams) error {
	for _, v := range variables {
		value, ok := os.LookupEnv(v.name)
		switch {
		case !ok || value == "":
			value = "-"
		case v.secret:
			value = "set"
		}
		fmt.Fprintf(std.out, "%-20s %-10s %s\n", v.name, value, v.help)
	}
	return nil
}
