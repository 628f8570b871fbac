package runtime

import (
	"context"
	"slices"
	"strconv"
	"time"

	"mikan/runtime/store"
	"mikan/wire"
)

// observation is how a task stands.
type observation struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Task    string `json:"task,omitempty"`
	Started string `json:"started,omitempty"`
	Tool    string `json:"currentTool,omitempty"`
	Since   string `json:"since,omitempty"` // of the state, or of the tool
	Text    string `json:"text,omitempty"`  // its final answer
	Error   string `json:"error,omitempty"`
}

const (
	maxObserved  = 20   // tasks
	maxTaskTexts = 2000 // characters of a final answer
)

// observe returns how the newest tasks stand, or the one with an id.
func (c *Conversation) observe(ctx context.Context, id string) ([]observation, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if id != "" && id != "null" && (err != nil || n < 1) {
		return []observation{{ID: id, State: "unknown"}}, nil
	}
	var tasks []store.Task
	err = c.use(ctx, func(db *store.DB) (err error) { tasks, err = db.Tasks(ctx, n, maxObserved); return err })
	if err == nil && n > 0 && len(tasks) == 0 {
		return []observation{{ID: id, State: "unknown"}}, nil
	}
	list := []observation{}
	for _, t := range tasks {
		list = append(list, c.observed(t))
	}
	return list, err
}

func (c *Conversation) observed(t store.Task) observation {
	o := observation{ID: strconv.FormatInt(t.ID, 10), Task: t.Title, Started: clock(t.Started)}
	switch p := t.Prompt; p.State {
	case store.Queued:
		o.State, o.Since = "queued", clock(p.Accepted)
	case store.Running:
		o.State, o.Since = "running", clock(p.Accepted)
		switch d, live := c.doing(wire.TaskPrefix + o.ID); {
		case !live: // it is left to the next start
			o.State = "unknown"
		case d.name != "":
			o.Tool, o.Since = d.name, clock(d.since)
		}
	default:
		o.State, o.Since, o.Error = "failed", clock(p.Ended), p.Error
		switch p.Outcome {
		case wire.OK:
			o.State = "done"
		case wire.Stopped:
			o.State, o.Error = "stopped", ""
		}
		o.Text = clipped(p.Final)
	}
	return o
}

// doing is the tool that a session called last and that has not returned, if there
// is one. live says whether the session has a run.
func (c *Conversation) doing(session string) (d doing, live bool) {
	c.mu.Lock()
	s := c.sessions[session]
	c.mu.Unlock()
	if s == nil {
		return d, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return d, false
	}
	if n := len(s.run.doing); n > 0 {
		d = s.run.doing[n-1]
	}
	return d, true
}

// clock is a time as the prefixes of messages have it.
func clock(t time.Time) string { return t.Format("2006-01-02 15:04:05-07:00") }

func clipped(text string) string {
	if r := []rune(text); len(r) > maxTaskTexts {
		return string(r[:maxTaskTexts]) + " [cut off]"
	}
	return text
}

// doing is a tool that a run has called and that has not returned.
type doing struct {
	call, name string
	since      time.Time
}

// noteTool keeps which tools the run has called that have not returned.
func (s *Session) noteTool(e wire.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil {
		return
	}
	switch e.Type {
	case wire.ToolCalled:
		s.run.doing = append(s.run.doing, doing{e.Call, e.Name, time.Now()})
	case wire.ToolReturned:
		s.run.doing = slices.DeleteFunc(s.run.doing, func(d doing) bool { return d.call == e.Call })
	}
}
