package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"mikan/fs"
	"mikan/wire"
)

// Desk returns the desk of a platform.
func (rt *Runtime) Desk(name string) (*Desk, error) {
	if d := rt.desks.find(name); d != nil {
		return d, nil
	}
	return nil, fs.NotExist
}

// DeskNames returns the platforms that have a desk, in order.
func (rt *Runtime) DeskNames() []string {
	return rt.desks.names()
}

// MakeDesk makes a platform.
func (rt *Runtime) MakeDesk(ctx context.Context, name string) (*Desk, error) {
	switch {
	case name == Local:
		return nil, fs.Errorf(fs.Exist, "the platform %s is built in and has no desk", Local)
	case !platformName.MatchString(name):
		return nil, fs.Errorf(fs.Invalid, "platform %q: want a lower-case letter and at most 15 letters and digits", name)
	}
	var d *Desk
	err := rt.desks.change(ctx, func() error {
		if rt.desks.find(name) != nil {
			return fs.Errorf(fs.Exist, "the platform %s exists", name)
		}
		if err := removeState(rt.deskTools(name)); err != nil { // of one that was removed, and a crash came
			return err
		}
		d = newDesk(rt, deskRecord{Name: name})
		rt.desks.set(name, d)
		err := rt.desks.save()
		if err != nil {
			rt.desks.set(name, nil)
		}
		return err
	})
	return d, err
}

// RemoveDesk removes a platform that is not in use.
func (rt *Runtime) RemoveDesk(ctx context.Context, name string) error {
	return rt.desks.change(ctx, func() error {
		d := rt.desks.find(name)
		if d == nil {
			return fs.NotExist
		}
		offices, err := rt.ws.registry.Platforms()
		switch {
		case err != nil:
			return err
		case slices.Contains(offices, name):
			return fs.Errorf(fs.Busy, "the platform %s has offices, which keep it", name)
		case len(d.Out.Listeners()) > 0:
			return fs.Errorf(fs.Busy, "an adapter works at the desk of %s; end it first", name)
		}
		if tool, ok := d.Tools().served(); ok {
			return fs.Errorf(fs.Busy, "a client serves the tool %s of %s; end it first", tool, name)
		}
		rt.desks.set(name, nil)
		if err := rt.desks.save(); err != nil {
			rt.desks.set(name, d)
			return err
		}
		d.Out.Close()
		return d.Tools().forget()
	})
}

// desks are the desks that there are, and the file that keeps them. A platform
// that has offices has one, also if the file was lost.
type desks struct {
	rt      *Runtime
	path    string
	editing chan struct{} // held while the file is changed

	mu   sync.Mutex
	open map[string]*Desk
}

// desksFile is the format of platforms.json.
type desksFile struct {
	Version   int          `json:"version"`
	Platforms []deskRecord `json:"platforms"`
}

// deskRecord is what is kept of a desk.
type deskRecord struct {
	Name   string    `json:"name"`
	Caps   wire.Caps `json:"caps,omitzero"` // what its adapter has said that it can do
	CapsAt time.Time `json:"capsAt,omitzero"`
}

// loadDesks reads the desks of a runtime, and not the registry of offices, which
// may be long.
func loadDesks(rt *Runtime, path string) (*desks, error) {
	all := &desks{rt: rt, path: path, editing: make(chan struct{}, 1), open: map[string]*Desk{}}
	file := desksFile{Version: 1}
	data, ok, err := readState(path)
	if err != nil {
		return nil, err
	}
	if ok {
		if err := wire.DecodeJSON(path, data, &file); err != nil {
			return nil, err
		}
	}
	if file.Version != 1 {
		return nil, fmt.Errorf("%s: version %d is not known to this program", path, file.Version)
	}
	for _, r := range file.Platforms {
		if !platformName.MatchString(r.Name) || r.Name == Local {
			return nil, fmt.Errorf("%s: %q is no name of a platform", path, r.Name)
		}
		if err := r.Caps.Check(); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", path, r.Name, err)
		}
		all.open[r.Name] = newDesk(rt, r)
	}
	return all, nil
}

// change calls f, which may change the desks, and nobody else meanwhile.
func (x *desks) change(ctx context.Context, f func() error) error {
	release, err := acquire(ctx, x.editing)
	if err != nil {
		return err
	}
	defer release()
	return f()
}

func (x *desks) save() error {
	file := desksFile{Version: 1, Platforms: []deskRecord{}}
	for _, name := range x.names() {
		d := x.find(name)
		d.mu.Lock()
		file.Platforms = append(file.Platforms, d.kept)
		d.mu.Unlock()
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return writeState(x.path, append(data, '\n'))
}

// find is the desk of a platform, nil if it has none.
func (x *desks) find(name string) *Desk {
	x.mu.Lock()
	d := x.open[name]
	x.mu.Unlock()
	if d != nil || name == Local {
		return d
	}
	if offices, err := x.rt.ws.registry.Platforms(); err != nil || !slices.Contains(offices, name) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open[name] == nil {
		x.open[name] = newDesk(x.rt, deskRecord{Name: name})
	}
	return x.open[name]
}

// set puts a desk there, or takes it away if d is nil.
func (x *desks) set(name string, d *Desk) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if d == nil {
		delete(x.open, name)
	} else {
		x.open[name] = d
	}
}

func (x *desks) names() []string {
	offices, err := x.rt.ws.registry.Platforms()
	if err != nil {
		offices = nil // whoever looks for one of them is told
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	names := append(slices.Collect(maps.Keys(x.open)), offices...)
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == Local })
}
