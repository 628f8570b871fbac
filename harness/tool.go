package harness

import (
	"context"
	"encoding/json"

	"mikan/wire"
)

// Tool is something that a model can call.
type Tool struct {
	ToolSpec
	// Run does it. args is a JSON object that fits the schema's types as far as
	// the tool checks them itself. progress, which may be called from any
	// goroutine until Run returns, gets output as it comes. An error becomes an
	// error result with the error's text, after what Result holds.
	Run func(ctx context.Context, args json.RawMessage, progress func(string)) (Result, error)
	// A Deferred tool can be called, but the model is told of it only once
	// tool_search has found it, or it was called. A run that has one has tool_search
	// too. All tools that have a namespace are deferred if a server would refuse so
	// many.
	Deferred  bool
	Namespace Namespace // for tool_search; of a tool that is or may be deferred
}

// Namespace is where deferred tools come from.
type Namespace struct {
	Name        string
	Description string // one line; may be empty
}

// Result is what a tool gives back.
type Result struct {
	Content []wire.Part     // text and images
	Details json.RawMessage // for people and transcripts; the model does not see it
}
