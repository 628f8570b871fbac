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

// foundBy are the names of the tools that a message loads.
func foundBy(m wire.Message) []string {
	var found loaded
	if m.Role != wire.ToolResult || m.ToolName != searchName || m.IsError || json.Unmarshal(m.Details, &found) != nil {
		return nil
	}
	return found.Loaded
}

// Of how many tools a model is told at most: OpenAI's servers refuse a request
// that has more than 128.
const (
	maxDirect = 96 // that are not deferred
	maxTaken  = 31 // from the shelf; tool_search is one more
)

// deferMany returns tools with those of a namespace deferred if they are too many.
func deferMany(tools []Tool) []Tool {
	direct := 0
	for _, t := range tools {
		if !t.Deferred {
			direct++
		}
	}
	if direct <= maxDirect {
		return tools
	}
	tools = slices.Clone(tools)
	for i := range tools {
		tools[i].Deferred = tools[i].Deferred || tools[i].Namespace.Name != ""
	}
	return tools
}

// wanted are the names of the tools that messages call or load, the newest first,
// some of them often.
func wanted(msgs []wire.Message) (names []string) {
	for _, m := range slices.Backward(msgs) {
		for _, c := range m.Calls() {
			names = append(names, c.Name)
		}
		names = append(names, foundBy(m)...)
	}
	return names
}

// taken are the tools that a history has taken from the shelf: the newest of
// those that tool_search found and those that were called, in the order of their
// names. The history alone decides, so that a run after a restart sees the same.
func (s *shelf) taken(history []wire.Message) []ToolSpec {
	names := map[string]bool{}
	for _, name := range wanted(history) {
		if _, ok := s.byName[name]; ok && len(names) < maxTaken {
			names[name] = true
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

// putBack tells of the tools that a cut puts back on the shelf, as an addition to
// the summary: the model would go on to call them without their schemas.
func putBack(msgs []wire.Message, cut int) string {
	kept := wanted(msgs[cut:])
	var names []string
	for _, m := range msgs[:cut] {
		for _, name := range foundBy(m) {
			if !slices.Contains(kept, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return "\n\n## Tools to load again\n\nWith " + searchName + ", by name, before a call: " + strings.Join(names[:min(len(names), searchMost)], ", ")
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
