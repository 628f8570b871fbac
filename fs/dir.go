package fs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Dir is a directory. Its children are fixed, or come and go with what the
// functions say, or both; a fixed one hides a dynamic one of its name. What a
// function is missing for is refused.
type Dir struct {
	Mode  FileMode  // 0: 0750
	MTime time.Time // zero: the tree's
	// Children are the fixed children. Once the directory is in use they are
	// changed by Add alone. None of them can be removed or renamed away.
	Children map[string]Node
	// Dynamic finds a child that is not fixed; NotExist if there is none.
	Dynamic func(ctx context.Context, name string) (Node, error)
	// List names the dynamic children, in any order.
	List func(ctx context.Context) ([]string, error)
	// Make makes a directory, Unmake removes a dynamic child of any sort.
	Make   func(ctx context.Context, who *Identity, name string) (Node, error)
	Unmake func(ctx context.Context, who *Identity, name string) error
	// MakeFile makes a file. A name that it answers with NotSupported is scratch,
	// where there is scratch. The node is a [Replacer] if scratch is to be
	// renamed to such a name.
	MakeFile func(ctx context.Context, who *Identity, name string) (Node, error)
	// Move renames a dynamic child, to a name in dir. One that it answers with
	// NotSupported is treated as a fixed one.
	Move func(ctx context.Context, who *Identity, name string, dir Directory, newname string) error
	// Scratch allows the files by which editors and scripts replace a value: see
	// scratch.go. Such a Dir is kept, and not made anew for each walk.
	Scratch bool

	mu      sync.Mutex // guards Children and what follows
	pad     map[string]*scratch
	tidying bool // a timer waits to drop old scratch
}

var (
	_ Directory = (*Dir)(nil)
	_ Creator   = (*Dir)(nil)
	_ Remover   = (*Dir)(nil)
	_ Renamer   = (*Dir)(nil)
)

// Add adds a fixed child, or replaces it.
func (d *Dir) Add(name string, n Node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Children == nil {
		d.Children = map[string]Node{}
	}
	d.Children[name] = n
}

// Stat describes the directory.
func (d *Dir) Stat(context.Context) (Info, error) {
	return Info{Mode: modeOr(d.Mode, 0o750) | ModeDir, MTime: d.MTime}, nil
}

// Lookup finds a child: a fixed one, a dynamic one, scratch.
func (d *Dir) Lookup(ctx context.Context, name string) (Node, error) {
	n, err := d.known(ctx, name)
	if !errors.Is(err, NotExist) {
		return n, err
	}
	if s := d.scratchFile(name); s != nil {
		return s, nil
	}
	return nil, NotExist
}

// known finds a child that is not scratch.
func (d *Dir) known(ctx context.Context, name string) (Node, error) {
	if n := d.fixed(name); n != nil {
		return n, nil
	}
	if d.Dynamic == nil {
		return nil, NotExist
	}
	return d.Dynamic(ctx, name)
}

func (d *Dir) fixed(name string) Node {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Children[name]
}

// Names lists the children but for scratch.
func (d *Dir) Names(ctx context.Context) ([]string, error) {
	d.mu.Lock()
	names := slices.Collect(maps.Keys(d.Children))
	d.mu.Unlock()
	if d.List != nil {
		more, err := d.List(ctx)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Create makes a directory, a file, or scratch.
func (d *Dir) Create(ctx context.Context, who *Identity, name string, perm FileMode) (Node, error) {
	switch {
	case perm.IsDir() && d.Make != nil:
		return d.Make(ctx, who, name)
	case perm.IsDir():
		return nil, Errorf(Fixed, "no directory can be made here")
	}
	if d.MakeFile != nil {
		n, err := d.MakeFile(ctx, who, name)
		if !errors.Is(err, NotSupported) {
			return n, err
		}
	}
	if !d.Scratch {
		return nil, Errorf(Fixed, "no file can be made here")
	}
	return d.newScratch(who, name, perm)
}

// Remove removes scratch or a dynamic child.
func (d *Dir) Remove(ctx context.Context, who *Identity, name string) error {
	if d.fixed(name) != nil {
		return Errorf(Fixed, "%s is fixed and cannot be removed", name)
	}
	if d.dropScratch(name) {
		return nil
	}
	if d.Unmake == nil {
		return Errorf(Fixed, "%s cannot be removed", name)
	}
	return d.Unmake(ctx, who, name)
}

// Rename renames a dynamic child or scratch, makes scratch the content of a
// value, or leaves a copy of a value as scratch.
func (d *Dir) Rename(ctx context.Context, who *Identity, name string, dir Directory, newname string) error {
	if d.Move != nil && d.fixed(name) == nil && d.scratchFile(name) == nil {
		err := d.Move(ctx, who, name, dir, newname)
		if !errors.Is(err, NotSupported) {
			return err
		}
	}
	if d.Scratch && dir == Directory(d) {
		return d.renameScratch(ctx, who, name, newname)
	}
	return Errorf(Fixed, "%s cannot be renamed", name)
}
