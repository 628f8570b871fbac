package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"mikan/wire"
)

// Model is what a run needs to know of a model.
type Model struct {
	Provider  string   // the provider's id: "anthropic"
	ID        string   // the model's id as the provider has it
	Name      string   // for people; may be empty
	API       string   // "anthropic-messages", "openai-completions", "openai-responses" or "demo"
	BaseURL   string   // empty: the provider's own
	Window    int      // context window in tokens
	MaxTokens int      // longest answer in tokens
	Input     []string // "text", "image"
	Reasons   bool     // takes a thinking level
	// Levels maps a thinking level to the provider's own word or number for it;
	// absent: the provider's default mapping.
	Levels  map[string]string
	Headers map[string]string
	Price   Price
	Caps    Caps
}

// Caps are what a model's server takes in one request. What is 0 is not known,
// and then what most servers take.
type Caps struct {
	Body       int // bytes of the whole request
	Images     int // images
	ImageBytes int // bytes of one image, in base64
}

// OrCommon is c with what nearly every server takes where nothing is known.
func (c Caps) OrCommon() Caps {
	return Caps{
		Body:       cmp.Or(c.Body, 20<<20),
		Images:     cmp.Or(c.Images, 100),
		ImageBytes: cmp.Or(c.ImageBytes, 5<<20),
	}
}

// String is "provider/model".
func (m Model) String() string { return m.Provider + "/" + m.ID }

// Price is in US dollars for a million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Cost fills in the cost of u at p.
func (p Price) Cost(u *wire.Usage) {
	c := wire.Cost{
		Input:      p.Input * float64(u.Input) / 1e6,
		Output:     p.Output * float64(u.Output) / 1e6,
		CacheRead:  p.CacheRead * float64(u.CacheRead) / 1e6,
		CacheWrite: p.CacheWrite * float64(u.CacheWrite) / 1e6,
	}
	c.Total = c.Input + c.Output + c.CacheRead + c.CacheWrite
	u.Cost = c
}

// Levels are the thinking levels, weakest first.
var Levels = []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"}

// Request is one model call.
type Request struct {
	Model    Model
	System   string
	Messages []wire.Message // every tool call has its result; see [Run]
	Tools    []ToolSpec     // sorted by name
	Thinking string         // one of [Levels]
	Session  string         // the same for all calls of a session: a cache key, not a secret
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, an object
}

// Delta is a piece of the answer as it arrives. One without text says that
// something else came, such as a piece of a tool call: the connection lives.
type Delta struct {
	Thinking bool // reasoning rather than text
	Text     string
}

// Provider speaks the API of one kind of model server.
type Provider interface {
	// Stream sends one request, reports what arrives to emit, in order and on
	// the calling goroutine, and returns the whole assistant message with its
	// usage and stop reason. With an error, which is ctx's or a [*ModelError],
	// the message holds what had arrived, without tool calls whose arguments
	// are incomplete. It does not retry.
	Stream(ctx context.Context, req Request, emit func(Delta)) (wire.Message, error)
}

// Trouble is the sort of a [ModelError].
type Trouble int

// The sorts of trouble. Only Transient and RateLimit are tried again.
const (
	Refused   Trouble = iota // the server will not have this request: 400, 404, 422
	Transient                // network, 5xx, a stream that broke off
	RateLimit                // 429, or the provider's own "overloaded"
	Denied                   // no or bad credentials: 401, 403
	Overflow                 // the context does not fit the window
)

// ModelError is a failed model call.
type ModelError struct {
	Trouble    Trouble
	Status     int           // HTTP status; 0 if there was none
	RetryAfter time.Duration // the server's wish; 0 if it had none
	Text       string        // one sentence for a person, with the server's own words, no secrets
	Err        error
}

// Error is the sentence.
func (e *ModelError) Error() string { return e.Text }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }
