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
var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

// CheckToolName reports what is wrong with the name of a tool that somebody
// adds.
func CheckToolName(name string) error {
	switch {
	case !toolName.MatchString(name):
		return fmt.Errorf("tool %.80q: a name has 1 to 64 letters, digits, _ and -, and begins with a letter or _", name)
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
	maxToolDescription = 1024     // characters, which OpenAI takes
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
	s.Parameters = withProperties(b.Bytes())
	return s, s.Check()
}

// withProperties adds to parameters the properties that they lack: OpenAI
// refuses an object without.
func withProperties(parameters []byte) []byte {
	var top map[string]any
	if json.Unmarshal(parameters, &top) != nil || len(top) == 0 {
		return parameters
	}
	if _, has := top["properties"]; has {
		return parameters
	}
	return append([]byte(`{"properties":{},`), parameters[1:]...)
}

// Text is the file schema: one line, as it may be written back.
func (s ToolSchema) Text() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // what was parsed always marshals
	}
	return b.Bytes()
}

// Check reports what is wrong with s.
func (s ToolSchema) Check() error {
	switch {
	case strings.TrimSpace(s.Description) == "":
		return fmt.Errorf("schema: description is missing; say what the tool does and when to use it")
	case strings.Contains(s.Description, "\x00"):
		return fmt.Errorf("schema: description: want a text with no NUL")
	case utf8.RuneCountInString(s.Description) > maxToolDescription:
		return fmt.Errorf("schema: description: %d characters; it may have %d", utf8.RuneCountInString(s.Description), maxToolDescription)
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
