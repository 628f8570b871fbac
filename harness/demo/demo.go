package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"mikan/harness"
	"mikan/wire"
)

// Hint ends the answers that ran no command.
const Hint = "(demo/echo is not a model: set ANTHROPIC_API_KEY, or write llm.provider and llm.model to settings.json)"

// Model is demo/echo.
func Model() harness.Model {
	return harness.Model{
		Provider:  "demo",
		ID:        "echo",
		Name:      "Echo (not a model)",
		API:       "demo",
		Window:    1_000_000,
		MaxTokens: 100_000,
		Input:     []string{"text"},
	}
}

// Provider answers for demo/echo.
type Provider struct{}

var _ harness.Provider = Provider{}

// Stream answers the last user message: with the next of its commands, or with
// the text, word by word.
func (Provider) Stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	reply := wire.Message{
		Role:       wire.Assistant,
		API:        req.Model.API,
		Provider:   req.Model.Provider,
		Model:      req.Model.ID,
		StopReason: wire.StopEnd,
		Timestamp:  time.Now().UnixMilli(),
	}
	if req.System == harness.SummarySystem {
		reply.Content = []wire.Part{wire.TextPart("demo: a summary that is none. " + Hint)}
		reply.Usage = usage(req, reply)
		return reply, ctx.Err()
	}
	prompt, outputs := question(req.Messages)
	commands := commandsOf(prompt)
	if n := len(outputs); n < len(commands) {
		reply.Content = []wire.Part{call(n, commands[n])}
		reply.StopReason = wire.StopToolUse
		reply.Usage = usage(req, reply)
		return reply, ctx.Err()
	}
	text := strings.Join(outputs, "\n")
	if len(commands) == 0 {
		text = "demo: " + prompt + "\n\n" + Hint
	}
	sent, err := say(ctx, text, emit)
	reply.Content = []wire.Part{wire.TextPart(sent)}
	reply.Usage = usage(req, reply)
	return reply, err
}

// question returns the text of the last user message and the outputs of the
// tool calls since then.
func question(msgs []wire.Message) (prompt string, outputs []string) {
	for _, m := range msgs {
		switch m.Role {
		case wire.User:
			prompt, outputs = harness.Unprefixed(lastText(m)), nil
		case wire.ToolResult:
			outputs = append(outputs, m.PlainText())
		}
	}
	return prompt, outputs
}

// lastText is the last text of a message: what comes before it is not the
// person's.
func lastText(m wire.Message) (text string) {
	for _, p := range m.Content {
		if p.Type == wire.Text {
			text = p.Text
		}
	}
	return text
}

// commandsOf returns the lines of a prompt that ask for a tool, in order.
func commandsOf(prompt string) []string {
	var commands []string
	for line := range strings.Lines(prompt) {
		if line = strings.TrimRight(line, "\r\n"); strings.HasPrefix(line, "$ ") || toolLine.MatchString(line) {
			commands = append(commands, line)
		}
	}
	return commands
}

// toolLine asks for a tool by its name, with its arguments.
var toolLine = regexp.MustCompile(`^% ([a-zA-Z0-9_-]+) *(\{.*\})?$`)

// call is the tool call for the nth command of a prompt.
func call(n int, command string) wire.Part {
	c := wire.Part{Type: wire.ToolCall, ID: fmt.Sprintf("demo_%d", n+1)}
	if m := toolLine.FindStringSubmatch(command); m != nil {
		c.Name, c.Arguments = m[1], json.RawMessage(cmp.Or(m[2], "{}"))
		return c
	}
	args, err := json.Marshal(map[string]string{"label": command, "command": strings.TrimPrefix(command, "$ ")})
	if err != nil {
		panic(err) // strings always marshal
	}
	c.Name, c.Arguments = "bash", args
	return c
}

// say emits text word by word and returns what it has emitted.
func say(ctx context.Context, text string, emit func(harness.Delta)) (string, error) {
	for at := 0; at < len(text); {
		if ctx.Err() != nil {
			return text[:at], context.Cause(ctx)
		}
		end := len(text)
		if i := strings.IndexAny(text[at:], " \n"); i >= 0 {
			end = at + i + 1
		}
		emit(harness.Delta{Text: text[at:end]})
		at = end
	}
	return text, nil
}

// usage counts the tokens of a call as the harness estimates them.
func usage(req harness.Request, reply wire.Message) *wire.Usage {
	u := wire.Usage{Output: harness.Estimate(reply)}
	for _, m := range req.Messages {
		u.Input += harness.Estimate(m)
	}
	u.Total = u.Input + u.Output
	return &u
}
