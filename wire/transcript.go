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
)

// CustomReset is the customType of the entry with which a session starts
// afresh: it has no parent, so nothing before it is in the context.
const CustomReset = "mikan.reset"

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

	// Of a compaction.
	Summary      string   `json:"summary,omitempty"`
	FirstKept    string   `json:"firstKeptEntryId,omitempty"` // the id of the first entry that stays in the context
	TokensBefore int      `json:"tokensBefore,omitempty"`
	Details      *Details `json:"details,omitempty"`
}

// Details are the files that the tool calls of a compacted history were about.
type Details struct {
	Read     []string `json:"readFiles"`
	Modified []string `json:"modifiedFiles"`
}

// Stamp formats t as transcripts have it: UTC with milliseconds.
func Stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

const stampLayout = "2006-01-02T15:04:05.000Z"
