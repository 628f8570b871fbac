package wire

import (
	"encoding/json"
	"time"
)

// TranscriptVersion is the version of the transcript's format.
const TranscriptVersion = 3

// Header is the first line of a transcript.
type Header struct {
	Type          string `json:"type"` // "session"
	Version       int    `json:"version"`
	ID            string `json:"id"` // a UUID
	Timestamp     string `json:"timestamp"`
	Cwd           string `json:"cwd"`
	ParentSession string `json:"parentSession,omitempty"` // the id of the session it was forked from
}

// The types of an [Entry].
const (
	EntryMessage  = "message"
	EntryModel    = "model_change"
	EntryThinking = "thinking_level_change"
	EntryInfo     = "session_info"
	EntryCustom   = "custom"
	EntryCompact  = "compaction"
	EntryBranch   = "branch_summary"
	EntryAside    = "custom_message"
	EntryLabel    = "label"
)

// The customType of the entries that are mikan's own.
const (
	// CustomReset is where a session starts afresh: the entry has no parent, so
	// nothing before it is in the context.
	CustomReset = "mikan.reset"
	// CustomFork is where a fork goes its own way. Its data is a [ForkPoint].
	CustomFork = "mikan.fork"
)

// ToolHistory is the tool that looks up the past. What it is asked and what it
// shows are not looked up in turn.
const ToolHistory = "history"

// ForkPoint says where a session was forked.
type ForkPoint struct {
	Session   string `json:"session"`         // by name
	SessionID string `json:"sessionId"`       // as in its header
	Entry     string `json:"entry,omitempty"` // the last one inherited; none: nothing is
}

// Entry is any later line of a transcript. Entries form a tree by ParentID; the
// branch in use is the path from the last entry to its root.
type Entry struct {
	Type      string  `json:"type"`
	ID        string  `json:"id"`       // 8 hex digits
	ParentID  *string `json:"parentId"` // null for a root
	Timestamp string  `json:"timestamp"`

	Message       *Message        `json:"message,omitempty"`
	Provider      string          `json:"provider,omitempty"`
	ModelID       string          `json:"modelId,omitempty"`
	ThinkingLevel string          `json:"thinkingLevel,omitempty"`
	Name          string          `json:"name,omitempty"`
	CustomType    string          `json:"customType,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`

	// Of a compaction or a branch_summary.
	Summary      string   `json:"summary,omitempty"`
	FirstKept    string   `json:"firstKeptEntryId,omitempty"` // the id of the first entry that stays in the context
	TokensBefore int      `json:"tokensBefore,omitempty"`
	Details      *Details `json:"details,omitempty"`
	FromID       string   `json:"fromId,omitempty"` // the last entry of the branch that was left

	// Of a label; an empty one takes the label away.
	TargetID string `json:"targetId,omitempty"`
	Label    string `json:"label,omitempty"`

	// Of a custom_message.
	Content json.RawMessage `json:"content,omitempty"` // text, or parts
	Display bool            `json:"display,omitempty"` // people see it, too
}

// Details are the files that the tool calls of a compacted history were about.
type Details struct {
	Read     []string `json:"readFiles"`
	Modified []string `json:"modifiedFiles"`
}

// Stamp formats t as transcripts have it: UTC with milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

const stampLayout = "2006-01-02T15:04:05.000Z"
