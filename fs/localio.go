package fs

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// The fid's operations on an open file, and on the entries of a directory.

func (f *fid) ReadDir(ctx context.Context) ([]Info, error) {
	list, err := f.readDir(ctx)
	return list, f.fail("read", err)
}

func (f *fid) readDir(ctx context.Context) ([]Info, error) {
	s, err := f.state()
	if err != nil {
		return nil, err
	}
	p, err := f.follow(ctx, s.at, new(int))
	if err != nil {
		return nil, err
	}
	dir, ok := p.node().(Directory)
	if !ok {
		return nil, NotDir
	}
	info, err := f.tree.info(ctx, f.who, p)
	if err != nil {
		return nil, err
	}
	if !f.may(p, info, read) {
		return nil, Permission
	}
	names, err := dir.Names(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Info, 0, len(names))
	for _, name := range names {
		if r := f.who.Rights; r != nil && !r.Shows(p.childPath(name)) {
			continue
		}
		info, err := f.entry(ctx, dir, p, name)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, NotExist) || info.Stream() {
			continue
		}
		// An entry that cannot be described is listed all the same, with no
		// mode: one broken file must not hide its neighbours.
		list = append(list, info)
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func (f *fid) entry(ctx context.Context, dir Directory, p place, name string) (Info, error) {
	n, err := dir.Lookup(ctx, name)
	if err != nil {
		return Info{Name: name}, err
	}
	return f.tree.info(ctx, f.who, p.child(name, n))
}

// opened returns the handle of a file that is open for how.
func (f *fid) opened(how Flags) (Handle, error) {
	s, err := f.state()
	switch {
	case err != nil:
		return nil, err
	case s.how&how == 0:
		return nil, Errorf(BadFid, "the file is not open for that")
	case s.handle == nil:
		return nil, IsDir
	}
	return s.handle, nil
}

func (f *fid) Read(ctx context.Context, p []byte, off int64) (int, error) {
	h, err := f.opened(Read)
	if err != nil {
		return 0, f.fail("read", err)
	}
	r, ok := h.(Reader)
	switch {
	case !ok:
		return 0, f.fail("read", Permission)
	case off < 0:
		return 0, f.fail("read", Invalid)
	case len(p) == 0:
		return 0, nil
	}
	n, err := f.readUntil(ctx, r, p, off)
	return n, f.fail("read", err)
}

// readUntil reads, but not beyond the time that the caller has: what comes too
// late is not for him.
func (f *fid) readUntil(ctx context.Context, r Reader, p []byte, off int64) (int, error) {
	if f.who.Until.IsZero() {
		return r.Read(ctx, p, off)
	}
	late := expired()
	ctx, cancel := context.WithDeadlineCause(ctx, f.who.Until, late)
	defer cancel()
	n, err := r.Read(ctx, p, off)
	if context.Cause(ctx) == late {
		return 0, late
	}
	return n, err
}

func (f *fid) Write(ctx context.Context, p []byte, off int64) (int, error) {
	h, err := f.opened(Write)
	if err != nil {
		return 0, f.fail("write", err)
	}
	w, ok := h.(Writer)
	switch {
	case !ok:
		return 0, f.fail("write", Permission)
	case off < 0:
		return 0, f.fail("write", Invalid)
	case len(p) == 0:
		return 0, nil
	}
	n, err := w.Write(ctx, p, off)
	return n, f.fail("write", err)
}

func (f *fid) Sync(ctx context.Context) error {
	s, err := f.state()
	if err != nil {
		return f.fail("sync", err)
	}
	if h, ok := s.handle.(Syncer); ok {
		return f.fail("sync", h.Sync(ctx))
	}
	return nil
}

func (f *fid) Truncate(ctx context.Context, size int64) error {
	s, err := f.state()
	if err != nil {
		return f.fail("truncate", err)
	}
	if s.how == 0 {
		return f.Change(ctx, Change{Size: &size})
	}
	h, err := f.opened(Write)
	if err == nil && size < 0 {
		err = Invalid
	}
	if t, ok := h.(Truncater); ok && err == nil {
		err = t.Truncate(ctx, size)
	}
	return f.fail("truncate", err)
}

func (f *fid) Change(ctx context.Context, c Change) error {
	return f.fail("change", f.change(ctx, c))
}

func (f *fid) change(ctx context.Context, c Change) error {
	s, err := f.state()
	if err != nil {
		return err
	}
	p, err := f.follow(ctx, s.at, new(int))
	if err != nil {
		return err
	}
	info, err := f.tree.info(ctx, f.who, p)
	if err != nil {
		return err
	}
	if err := f.mayChange(p, info, c); err != nil {
		return err
	}
	if n, ok := p.node().(Changer); ok {
		return n.Change(ctx, f.who, c)
	}
	if c.Mode != nil && c.Mode.Perm() != info.Mode.Perm() {
		return Errorf(Fixed, "the mode is fixed")
	}
	return nil
}

// mayChange is Unix's rule: the mode is the owner's, the time the owner's or a
// writer's, the size a writer's. A rights list asks for writing throughout.
func (f *fid) mayChange(p place, info Info, c Change) error {
	if c.Size != nil {
		switch {
		case *c.Size < 0:
			return Invalid
		case info.Mode.IsDir():
			return IsDir
		case info.Mode.Perm()&0o222 == 0:
			return Permission
		}
	}
	if f.who.Rights != nil {
		if !f.may(p, info, write) {
			return Permission
		}
		return nil
	}
	owner := f.who.UID == info.UID || f.who.UID == 0
	if c.Mode != nil && !owner {
		return Fixed
	}
	writer := f.who.access(info, write)
	if c.MTime != nil && !owner && !writer || c.Size != nil && !writer {
		return Permission
	}
	return nil
}

func (f *fid) Rename(ctx context.Context, dir Fid, name string) error {
	return f.fail("rename", f.rename(ctx, dir, name))
}

func (f *fid) rename(ctx context.Context, dir Fid, name string) error {
	s, err := f.state()
	if err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	from, to := s.at.parent(), s.at.parent()
	if dir != nil {
		d, ok := dir.(*fid)
		if !ok || d.tree != f.tree {
			return CrossDevice
		}
		ds, err := d.state()
		if err != nil {
			return err
		}
		if to, err = f.follow(ctx, ds.at, new(int)); err != nil {
			return err
		}
	}
	target, ok := to.node().(Directory)
	mover, can := from.node().(Renamer)
	switch {
	case !ok:
		return NotDir
	case len(s.at) == 1 || !can:
		return Errorf(Fixed, "the name is fixed")
	case to.below(s.at):
		return Errorf(Invalid, "a directory cannot be moved into itself")
	}
	if err := f.alter(ctx, from, s.at.name()); err != nil {
		return err
	}
	if err := f.alter(ctx, to, name); err != nil {
		return err
	}
	if err := mover.Rename(ctx, f.who, s.at.name(), target, name); err != nil {
		return err
	}
	f.moved(ctx, s.at, to, target, name)
	return nil
}

// moved makes f stand on the file under its new name.
func (f *fid) moved(ctx context.Context, old, to place, dir Directory, name string) {
	n, err := dir.Lookup(ctx, name)
	if err != nil {
		n = old.node()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = to.child(name, n)
}

func (f *fid) Remove(ctx context.Context) error {
	s, err := f.state()
	if err == nil {
		err = f.remove(ctx, s.at)
	}
	if h, _ := f.retire(); h != nil {
		h.Close() // what was written went with the file
	}
	return f.fail("remove", err)
}

func (f *fid) remove(ctx context.Context, p place) error {
	dir, ok := p.parent().node().(Remover)
	if len(p) == 1 || !ok {
		return Errorf(Fixed, "the file cannot be removed")
	}
	if err := f.alter(ctx, p.parent(), p.name()); err != nil {
		return err
	}
	return dir.Remove(ctx, f.who, p.name())
}

// Prompt is a Fid that knows whether what is written to it is taken at once,
// from memory to memory, so that nobody need wait for it on the side.
type Prompt interface {
	Prompt() bool
}

var _ Prompt = (*fid)(nil)

// Prompt reports whether the open file takes writes at once.
func (f *fid) Prompt() bool {
	h, err := f.opened(Write)
	if err != nil {
		return false
	}
	_, service := h.(*serviceHandle)
	return service
}
