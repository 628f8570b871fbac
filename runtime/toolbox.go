package runtime

import (
	"mikan/harness"
	"mikan/runtime/store"
)

// toolbox is what the run of p can call: the tools of the computer, which the
// runner has, and those that are bound to one run.
func (s *Session) toolbox(r *runner, p store.Prompt) []harness.Tool {
	return r.tools
}
