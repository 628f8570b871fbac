package runtime

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"mikan/fs"
	"mikan/wire"
)

// What clients can add in one place. An office has the tools of two places, and
// each request to its model has them all: OpenAI takes 128, with the agent's own.
const (
	maxTools   = 48
	maxSchemas = 64 << 10 // bytes of all their schemas
)

// Tools are the tools that clients add: to the agent of an office, or to those
// of all offices of a platform. What they are is kept over restarts; who serves
// them is not.
type Tools struct {
	path    string
	of      any           // the office or the desk: it lives as long as anything of its tools is open
	broken  error         // why the file cannot be read
	editing chan struct{} // held while the file is changed

	mu   sync.Mutex
	open map[string]*AddedTool
}

// Names are the tools that there are, in order.
func (t *Tools) Names() ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.open)), t.broken
}

// Find returns the tool called name.
func (t *Tools) Find(name string) (*AddedTool, error) {
	if t.broken != nil {
		return nil, t.broken
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if tool := t.open[name]; tool != nil {
		return tool, nil
	}
	return nil, fs.NotExist
}

// offered are the tools that the agent has, in the order of their names.
func (t *Tools) offered() ([]*AddedTool, error) {
	names, err := t.Names()
	var list []*AddedTool
	for _, name := range names {
		if tool, err := t.Find(name); err == nil && tool.schema() != nil {
			list = append(list, tool)
		}
	}
	return list, err
}

// Make makes a tool, which the agent has once it has a schema.
func (t *Tools) Make(ctx context.Context, name string) (*AddedTool, error) {
	if err := wire.CheckToolName(name); err != nil {
		return nil, fs.Errorf(fs.Invalid, "%w", err)
	}
	var tool *AddedTool
	err := t.change(ctx, func() error {
		names, err := t.Names()
		switch {
		case err != nil:
			return err
		case slices.Contains(names, name):
			return fs.Errorf(fs.Exist, "the tool %s exists", name)
		case len(names) >= maxTools:
			return fs.Errorf(fs.Again, "%d tools are there already; remove one", maxTools)
		}
		tool = newAddedTool(t, toolRecord{Name: name, ChangedAt: now()})
		t.set(name, tool)
		err = t.save()
		if err != nil {
			t.set(name, nil)
		}
		return err
	})
	return tool, err
}

// room is an error if there is none for a schema of tool.
func (t *Tools) room(tool *AddedTool, schema *wire.ToolSchema) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	total := len(schema.Text())
	for _, other := range t.open {
		if s := other.schema(); other != tool && s != nil {
			total += len(s.Text())
		}
	}
	if total > maxSchemas {
		return fs.Errorf(fs.TooBig, "the tools here would have schemas of %d bytes together; they may have %d", total, maxSchemas)
	}
	return nil
}

// Remove removes a tool that nobody serves.
func (t *Tools) Remove(ctx context.Context, name string) error {
	return t.change(ctx, func() error {
		tool, err := t.Find(name)
		switch {
		case err != nil:
			return err
		case tool.served():
			return fs.Errorf(fs.Busy, "a client serves the tool %s; end it first", name)
		}
		t.set(name, nil)
		if err := t.save(); err != nil {
			t.set(name, tool)
			return err
		}
		tool.Call.Close()
		return nil
	})
}

// served is a tool that somebody serves, if there is one.
func (t *Tools) served() (name string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, tool := range t.open {
		if tool.served() {
			return name, true
		}
	}
	return "", false
}

// change calls f, which may change the tools, and nobody else meanwhile.
func (t *Tools) change(ctx context.Context, f func() error) error {
	release, err := acquire(ctx, t.editing)
	if err != nil {
		return err
	}
	defer release()
	return f()
}

// set puts a tool there, or takes it away if it is nil.
func (t *Tools) set(name string, tool *AddedTool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tool == nil {
		delete(t.open, name)
	} else {
		t.open[name] = tool
	}
}

// now is the time as it is kept.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
