package wire

import (
	"encoding/json"
	"time"
)

// EventType is the type of a feed line.
type EventType string

// The types of feed lines.
const (
	Accepted       EventType = "accepted"        // a prompt was queued
	TurnStart      EventType = "turn_start"      // a model request is about to be sent
	Delta          EventType = "delta"           // provisional text of the model
	ThinkingDelta  EventType = "thinking"        // provisional reasoning of the model
	ToolCalled     EventType = "tool_call"       // a tool starts
	ToolProgress   EventType = "tool_progress"   // output of a running tool
	ToolReturned   EventType = "tool_result"     // a tool ended
	MessageEnd     EventType = "message_end"     // a message was committed
	TurnEnd        EventType = "turn_end"        // a model request and its tools are done
	SessionCompact EventType = "session_compact" // the context was compacted
	AgentError     EventType = "agent_error"     // a model request failed; Retry says whether it is tried again
	BudgetExceeded EventType = "budget_exceeded" // a limit ended the run
	Settled        EventType = "settled"         // a prompt's run ended; Outcome says how
	Logged         EventType = "message"         // a record was added to the log
	Status         EventType = "status"          // the session became idle or running
	Undelivered    EventType = "undelivered"     // an answer could not be posted; Error says why
	Dropped        EventType = "dropped"         // N lines were lost to this slow reader
)

// EventTypes is the table of feed lines, in the order of the manual.
var EventTypes = []struct {
	Type EventType
	Help string
}{
	{Accepted, "a prompt was accepted and queued; text holds it"},
	{TurnStart, "a model request is about to be sent"},
	{Delta, "text of the model as it arrives; provisional until message_end"},
	{ThinkingDelta, "reasoning of the model as it arrives"},
	{ToolCalled, "a tool starts; name, call and args"},
	{ToolProgress, "output of a running tool"},
	{ToolReturned, "a tool ended; name, call, text and is_error"},
	{MessageEnd, "a message was committed; message holds it"},
	{TurnEnd, "a model request and its tools are done"},
	{SessionCompact, "the context was compacted; reason is threshold, overflow or manual, tokensBefore its size until then, text the summary"},
	{AgentError, "a model request failed; retry says whether it is tried again"},
	{BudgetExceeded, "a limit ended the run; budget says which, and what was used up"},
	{Settled, "a prompt's run ended; outcome is ok, failed, stopped, interrupted or budget"},
	{Logged, "a record was added to the log; record holds it"},
	{Status, "the session became idle or running"},
	{Undelivered, "an answer could not be posted on the platform, or nobody knows whether it was; error says why"},
	{Dropped, "this reader was too slow; n lines were lost"},
}

// Outcome says how a run ended.
type Outcome string

// The outcomes of a run.
const (
	OK          Outcome = "ok"
	Failed      Outcome = "failed"
	Stopped     Outcome = "stopped"     // by a person
	Interrupted Outcome = "interrupted" // by the daemon's end
	OverBudget  Outcome = "budget"
)

// Event is one line of a feed. The harness fills in what it knows; the runtime
// adds Seq, Time, Office, Session and Prompt.
type Event struct {
	Seq     uint64    `json:"seq"` // counts the events of the daemon since its start
	Time    time.Time `json:"time"`
	Office  string    `json:"office,omitempty"`  // platform/conversation, as in the path
	Session string    `json:"session,omitempty"` // the name in the path
	Prompt  string    `json:"prompt,omitempty"`  // the prompt's ts
	Type    EventType `json:"type"`

	Actor   string          `json:"actor,omitempty"`
	Text    string          `json:"text,omitempty"`
	Name    string          `json:"name,omitempty"`  // the tool's
	Call    string          `json:"call,omitempty"`  // the tool call's id
	Label   string          `json:"label,omitempty"` // what the tool call is for, in the model's words
	Args    json.RawMessage `json:"args,omitempty"`
	IsError bool            `json:"is_error,omitempty"`
	Retry   int             `json:"retry,omitempty"` // the attempt that follows
	Outcome Outcome         `json:"outcome,omitempty"`
	Error   string          `json:"error,omitempty"`
	State   string          `json:"state,omitempty"` // idle or running
	Usage   *Usage          `json:"usage,omitempty"`
	Budget  *Budget         `json:"budget,omitempty"`
	Message *Message        `json:"message,omitempty"`
	Record  *Record         `json:"record,omitempty"`
	N       int             `json:"n,omitempty"`
	Reason  string          `json:"reason,omitempty"`       // of a compaction
	Tokens  int             `json:"tokensBefore,omitempty"` // of the context, until it was compacted
}

// Budget is what a run had used up when a limit ended it.
type Budget struct {
	Reason     string  `json:"reason"` // "50 LLM calls >= 50 limit"
	Tokens     int     `json:"tokens"`
	CostUSD    float64 `json:"costUsd"`
	LLMCalls   int     `json:"llmCalls"`
	DurationMS int64   `json:"durationMs"`
}

// Record is one line of an office's log: what was said on the platform.
type Record struct {
	Date        string       `json:"date"` // as [Stamp] has it
	TS          string       `json:"ts"`   // the platform's message id, or the prompt's
	ThreadTS    string       `json:"threadTs,omitempty"`
	User        string       `json:"user"` // "bot" for the agent
	UserName    string       `json:"userName,omitempty"`
	DisplayName string       `json:"displayName,omitempty"`
	Text        string       `json:"text"`
	Attachments []Attachment `json:"attachments"`
	IsBot       bool         `json:"isMessagingBot"`
	// Change is "edited" or "deleted" if this is an earlier message anew.
	Change MessageChange `json:"change,omitempty"`
	// Error is why an answer does not stand on the platform, or may not.
	Error string `json:"error,omitempty"`
	// Session is the name in the path of the session that was asked, or answered.
	Session string `json:"session,omitempty"`
	// Trigger is the ts of the message that this answers.
	Trigger string `json:"trigger,omitempty"`
}

// Attachment is a file that came with a message.
type Attachment struct {
	Name      string `json:"name"`
	LocalPath string `json:"localPath"` // relative to the workspace
}
