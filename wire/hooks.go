package wire

import "encoding/json"

// Hook is a question that is put to whoever serves the file hooks/<name> of an
// office.
type Hook struct {
	Name  string
	Asks  string // the fields of the request
	Takes string // the fields of a replacement
	Help  string
}

// The hooks that exist.
const (
	HookStart  = "before_agent_start"
	HookCall   = "tool_call"
	HookResult = "tool_result"
)

// Hooks is the table of hooks, in the order of the manual.
var Hooks = []Hook{
	{HookStart, "prompt, systemPrompt, origin", "prompt, systemPrompt",
		"Before anything is stored or sent. Denied, the run fails with the reason and leaves nothing in the history."},
	{HookCall, "toolCallId, toolName, args, origin", "args",
		"Before a tool runs. Denied, the reason is the tool's result."},
	{HookResult, "toolCallId, toolName, args, content, details, isError, origin", "content, details, isError",
		"Before anyone sees a tool's result. Denied, the reason takes its place."},
}

// Origin says whose prompt a hook is about.
type Origin struct {
	Kind      string `json:"kind"` // interactive, or what made the prompt, of whom there is no more then
	Platform  string `json:"platform"`
	Session   string `json:"session"`
	MessageTS string `json:"messageTs,omitempty"`
	UserID    string `json:"userId,omitempty"`
	UserName  string `json:"userName,omitempty"`
}

// HookEvent is the request of a hook; which fields count is in [Hooks].
type HookEvent struct {
	Prompt       *string         `json:"prompt,omitempty"`
	SystemPrompt *string         `json:"systemPrompt,omitempty"`
	ToolCallID   string          `json:"toolCallId,omitempty"`
	ToolName     string          `json:"toolName,omitempty"`
	Args         json.RawMessage `json:"args,omitempty"`
	Content      []Part          `json:"content,omitempty"`
	Details      json.RawMessage `json:"details,omitempty"`
	IsError      *bool           `json:"isError,omitempty"`
	Origin       Origin          `json:"origin"`
}

// Summary is e as JSON of at most room bytes: all of it, or what is left when the
// fields that may be long are taken out, one after the other. told is what it
// still has of e.
func (e HookEvent) Summary(room int) (line json.RawMessage, told HookEvent, err error) {
	cuts := []func(*HookEvent){
		func(*HookEvent) {},
		func(s *HookEvent) { s.SystemPrompt, s.Content, s.Details = nil, nil, nil },
		func(s *HookEvent) { s.Args = nil },
		func(s *HookEvent) { s.Prompt = nil },
		func(s *HookEvent) { s.Origin = Origin{Kind: s.Origin.Kind} },
		func(s *HookEvent) { s.ToolCallID, s.ToolName = "", "" },
	}
	told = e
	for _, cut := range cuts {
		cut(&told)
		if line, err = json.Marshal(told); err != nil || len(line) <= room {
			break
		}
	}
	return line, told, err
}
