package harness

import (
	"encoding/json"
	"slices"
	"strings"

	"mikan/wire"
)

// shelf holds the tools of a run that the model is not told of yet.
type shelf struct {
	tools  []Tool // sorted by name
	byName map[string]ToolSpec
}

// newShelf takes the deferred ones of tools; nil if there is none.
func newShelf(tools []Tool) *shelf {
	s := &shelf{byName: map[string]ToolSpec{}}
	for _, t := range tools {
		if _, twice := s.byName[t.Name]; t.Deferred && !twice {
			s.tools = append(s.tools, t)
			s.byName[t.Name] = t.ToolSpec
		}
	}
	if len(s.tools) == 0 {
		return nil
	}
	slices.SortFunc(s.tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// loaded is what a result of tool_search has in its details.
type loaded struct {
	Loaded []string `json:"loaded"`
}

// taken are the tools that a history has taken from the shelf: those that
// tool_search found and those that were called, in the order of their names. The
// history alone decides, so that a run after a restart sees the same.
func (s *shelf) taken(history []wire.Message) []ToolSpec {
	names := map[string]bool{}
	for _, m := range history {
		for _, c := range m.Calls() {
			names[c.Name] = true
		}
		if m.Role != wire.ToolResult || m.ToolName != searchName || m.IsError {
			continue
		}
		var found loaded
		if json.Unmarshal(m.Details, &found) == nil {
			for _, name := range found.Loaded {
				names[name] = true
			}
		}
	}
	var list []ToolSpec
	for _, t := range s.tools {
		if names[t.Name] {
			list = append(list, t.ToolSpec)
		}
	}
	return list
}

// unshelve makes the specs those that the history calls for.
func (l *loop) unshelve() {
	if l.shelf == nil {
		return
	}
	l.specs = slices.DeleteFunc(slices.Clone(l.specs), func(s ToolSpec) bool { _, deferred := l.shelf.byName[s.Name]; return deferred })
	l.specs = append(l.specs, l.shelf.taken(l.history)...)
	slices.SortFunc(l.specs, func(a, b ToolSpec) int { return strings.Compare(a.Name, b.Name) })
}
