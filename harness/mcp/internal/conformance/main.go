package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"mikan/harness"
	"mikan/harness/mcp"
)

// patience is less than the suite's own, so that we say what was wrong.
const patience = 25 * time.Second

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: conformance URL")
		os.Exit(2)
	}
	if err := try(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

// try calls each tool of the server at url.
func try(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	set := mcp.New([]mcp.Config{{Name: "suite", URL: url}}, mcp.Options{Version: "conformance", Wait: patience})
	defer set.Close()
	set.Start(ctx)
	if s := set.Status()[0]; s.State != mcp.Connected {
		return fmt.Errorf("the server is not there: %v", s)
	}
	for _, t := range set.Tools(nowhere{}) {
		if _, err := t.Run(ctx, arguments(t.Schema), func(string) {}); err != nil {
			return fmt.Errorf("call %s: %w", t.Name, err)
		}
	}
	return nil
}

// arguments fit a schema as far as the suite's tools have one.
func arguments(schema json.RawMessage) json.RawMessage {
	var s struct {
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return json.RawMessage("{}")
	}
	args := map[string]any{}
	for name, p := range s.Properties {
		switch p.Type {
		case "number", "integer":
			args[name] = len(name) + 1
		case "string":
			args[name] = name
		}
	}
	text, _ := json.Marshal(args) // numbers and strings: it cannot fail
	return text
}

// nowhere is a computer for results that need none.
type nowhere struct{ harness.Computer }

func (nowhere) Dir() string { return "/nowhere" }
