package wire

import "encoding/json"

// The roles of a [Message].
const (
	User       = "user"
	Assistant  = "assistant"
	ToolResult = "toolResult"
)

// The types of a [Part].
const (
	Text     = "text"
	Image    = "image"
	Thinking = "thinking"
	ToolCall = "toolCall"
)

// The reasons why an assistant message ended, in [Message.StopReason].
const (
	StopEnd     = "stop"
	StopLength  = "length"
	StopToolUse = "toolUse"
	StopError   = "error"
	StopAborted = "aborted"
)

// Message is one message of a session, as a transcript of version 3 holds it.
type Message struct {
	Role    string `json:"role"`
	Content []Part `json:"content"`

	// Of an assistant message.
	API          string `json:"api,omitempty"`
	Provider     string `json:"provider,omitempty"`
	Model        string `json:"model,omitempty"`
	Usage        *Usage `json:"usage,omitempty"`
	StopReason   string `json:"stopReason,omitempty"`
	ResponseID   string `json:"responseId,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`

	// Of a tool result.
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
	IsError    bool            `json:"isError,omitempty"`

	Timestamp int64 `json:"timestamp"` // Unix milliseconds
}

// Part is one part of a message's content; Type says which fields count.
type Part struct {
	Type string `json:"type"`

	Text          string `json:"text,omitempty"`
	TextSignature string `json:"textSignature,omitempty"`

	Thinking          string `json:"thinking,omitempty"`
	ThinkingSignature string `json:"thinkingSignature,omitempty"`
	Redacted          bool   `json:"redacted,omitempty"` // the signature holds the provider's opaque block

	Data     string `json:"data,omitempty"` // base64
	MimeType string `json:"mimeType,omitempty"`

	ID               string          `json:"id,omitempty"`
	Name             string          `json:"name,omitempty"`
	Arguments        json.RawMessage `json:"arguments,omitempty"` // always an object
	ThoughtSignature string          `json:"thoughtSignature,omitempty"`
}

// Usage counts the tokens of one model call, of four kinds, and their price.
type Usage struct {
	Input      int  `json:"input"` // not counting those from the cache
	Output     int  `json:"output"`
	CacheRead  int  `json:"cacheRead"`
	CacheWrite int  `json:"cacheWrite"`
	Total      int  `json:"totalTokens"`
	Cost       Cost `json:"cost"`
}

// Cost is a price in US dollars, by the kind of token.
type Cost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Output += v.Output
	u.CacheRead += v.CacheRead
	u.CacheWrite += v.CacheWrite
	u.Total += v.Total
	u.Cost.Input += v.Cost.Input
	u.Cost.Output += v.Cost.Output
	u.Cost.CacheRead += v.Cost.CacheRead
	u.Cost.CacheWrite += v.Cost.CacheWrite
	u.Cost.Total += v.Cost.Total
}

// TextPart is a part of text.
func TextPart(s string) Part { return Part{Type: Text, Text: s} }

// PlainText joins the text parts of m.
func (m Message) PlainText() string {
	var s string
	for _, p := range m.Content {
		if p.Type == Text {
			s += p.Text
		}
	}
	return s
}

// Calls returns the tool calls of m, in order.
func (m Message) Calls() []Part {
	var calls []Part
	for _, p := range m.Content {
		if p.Type == ToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}
