package runtime

import (
	"errors"
	"slices"

	"mikan/harness"
	"mikan/wire"
)

// toolNames are the names of the tools that the office's agent may have: its own,
// and those that clients have added.
func (c *Conversation) toolNames() ([]string, error) {
	names, err := c.Tools().Names()
	names = slices.Concat(wire.ToolNames, names)
	if d := c.desk(); d != nil {
		more, failed := d.Tools().Names()
		names, err = append(names, more...), errors.Join(err, failed)
	}
	slices.Sort(names)
	return slices.Compact(names), err
}

// toolbox is what a run can call: the tools of the computer, which the runner
// has, those of the MCP servers, and those that are bound to one run. Subagents
// can have all of them but what begins work; a task begins no tasks.
func (s *Session) toolbox(r *runner, now *run) []harness.Tool {
	list := slices.Concat(r.tools, r.serverTools())
	list = append(list, harness.HistoryTool(past{s}))
	list = append(list, s.chatTools(r, now.prompt)...)
	list = append(list, s.addedTools(r, now.prompt, list)...) // last: no name is taken twice
	list = append(list, s.subagents(r, now, slices.Clone(list)))
	if !s.isTask() {
		list = append(list, s.startTask(r, now), s.taskStatus())
	}
	return list
}
