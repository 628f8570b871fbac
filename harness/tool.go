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
}

// Result is what a tool gives back.
type Result struct {
	Content []wire.Part     // text and images
	Details json.RawMessage // for people and transcripts; the model does not see it
}
