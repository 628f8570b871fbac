package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// ToolNames are the names of the agent's own tools, whether it has them in
// every office or not. Whoever adds a tool chooses another.
var ToolNames = []string{
	"attach", "bash", "edit", "history", "react", "read", "start_task", "subagent", "task_status", "tool_search", "write",
}

// remotePrefix begins the names of the tools of MCP servers.
const remotePrefix = "mcp__"

// IsRemoteTool reports whether name is one that a tool of an MCP server can have.
func IsRemoteTool(name string) bool {
	return strings.HasPrefix(name, remotePrefix) && toolName.MatchString(name)
}

// toolName is what every provider takes for a name.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// CheckToolName reports what is wrong with the name of a tool that somebody
// adds.
func CheckToolName(name string) error {
	switch {
	case !toolName.MatchString(name):
		return fmt.Errorf("tool %.80q: a name has 1 to 64 letters, digits, _ and -", name)
	case slices.Contains(ToolNames, name):
		return fmt.Errorf("the agent has a tool %s of its own; choose another name", name)
	case IsRemoteTool(name):
		return fmt.Errorf("tool %q: names with %s are those of MCP servers; choose another", name, remotePrefix)
	}
	return nil
}

// The bounds of a tool that somebody adds.
const (
	MaxToolSchema      = 16 << 10 // bytes of the file schema
	maxToolDescription = 4 << 10  // bytes
	ToolTimeout        = 10 * time.Minute
	MaxToolTimeout     = 24 * time.Hour
)

// ToolSchema is the file schema of a tool that somebody adds: what the model is
// told of it.
type ToolSchema struct {
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // a JSON Schema for an object; none: it has none
	Timeout     string          `json:"timeout,omitempty"`    // of a call, such as 30s; none: [ToolTimeout]
}

// ParseToolSchema reads the file schema. It refuses what a provider would, and
// with it every prompt of the office.
func ParseToolSchema(data []byte) (ToolSchema, error) {
	var s ToolSchema
	if err := DecodeJSON("schema", data, &s); err != nil {
		return s, err
	}
	if s.Parameters == nil {
		s.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, s.Parameters); err != nil {
		return s, fmt.Errorf("schema: parameters: %w", err)
	}
	s.Parameters = b.Bytes()
	return s, s.Check()
}

// Check reports what is wrong with s.
func (s ToolSchema) Check() error {
	switch {
	case strings.TrimSpace(s.Description) == "":
		return fmt.Errorf("schema: description is missing; say what the tool does and when to use it")
	case len(s.Description) > maxToolDescription:
		return fmt.Errorf("schema: description: %d bytes; it may have %d", len(s.Description), maxToolDescription)
	case !utf8.ValidString(s.Description):
		return fmt.Errorf("schema: description: want UTF-8")
	}
	if _, err := s.Patience(); err != nil {
		return err
	}
	return checkParameters(s.Parameters)
}

// Patience is how long a call may take.
func (s ToolSchema) Patience() (time.Duration, error) {
	if s.Timeout == "" {
		return ToolTimeout, nil
	}
	d, err := time.ParseDuration(s.Timeout)
	if err != nil || d <= 0 || d > MaxToolTimeout {
		return 0, fmt.Errorf("schema: timeout: %.40q: want a duration such as 30s, of at most %v", s.Timeout, MaxToolTimeout)
	}
	return d, nil
}
