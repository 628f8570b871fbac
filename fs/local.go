package fs

import (
	"context"
	"errors"
	"sync"
)

// fid is the local Fid. It keeps the way it came by, so that ".." and the
// rights over a directory's entries need no help from the nodes, and it is the
// one place where permission is checked.
type fid struct {
	tree *Tree
	who  *Identity

	mu     sync.Mutex // guards what follows, and is not held while a node works
	at     place
	how    Flags // 0: not open
	handle Handle
	dead   bool
}

// state is a fid's as an operation finds it.
type state struct {
	at     place
	how    Flags
	handle Handle
}

func (f *fid) state() (state, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return state{}, BadFid
	}
	return state{f.at, f.how, f.handle}, f.who.Valid()
}

// fail gives err the operation and the path, once, and keeps it as the caller's
// last error. What a shell meets while it looks around is not kept.
func (f *fid) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	f.mu.Lock()
	name := f.at.path()
	f.mu.Unlock()
	return f.failAt(op, name, err)
}

func (f *fid) failAt(op, name string, err error) error {
	if err == nil {
		return nil
	}
	e := locate(op, name, err)
	looking := e.Kind == NotExist && (op == "walk" || op == "stat")
	if !looking && e.Kind != Interrupted {
		f.tree.errs.record(f.who, e)
	}
	return e
}

// locate makes err an *Error that has an operation and a path.
func locate(op, name string, err error) *Error {
	var e *Error
	var k Kind
	switch {
	case errors.As(err, &e) && e.Op != "":
		return e
	case errors.As(err, &e):
		return &Error{Op: op, Path: name, Kind: e.Kind, Text: e.Text, Err: e.Err}
	case errors.As(err, &k):
		return &Error{Op: op, Path: name, Kind: k}
	}
	return &Error{Op: op, Path: name, Kind: KindOf(err), Err: err}
}

func (f *fid) Walk(ctx context.Context, names ...string) (Fid, error) {
	s, err := f.state()
	if err == nil && s.how != 0 {
		err = Errorf(BadFid, "the file is open; walk from one that is not")
	}
	if err != nil {
		return nil, f.fail("walk", err)
	}
	var links int
	p := s.at
	for _, name := range names {
		next, err := f.walk(ctx, p, []string{name}, &links)
		if err != nil {
			return nil, f.failAt("walk", p.childPath(name), err)
		}
		p = next
	}
	return &fid{tree: f.tree, who: f.who, at: p}, nil
}

func (f *fid) Stat(ctx context.Context) (Info, error) {
	s, err := f.state()
	if err != nil {
		return Info{}, f.fail("stat", err)
	}
	var info Info
	if h, ok := s.handle.(Stater); ok {
		info, err = h.Stat(ctx)
		info = f.tree.complete(s.at, info)
	} else {
		info, err = f.tree.info(ctx, f.who, s.at)
	}
	return info, f.fail("stat", err)
}

func (f *fid) Open(ctx context.Context, how Flags) error {
	return f.fail("open", f.open(ctx, how))
}

func (f *fid) open(ctx context.Context, how Flags) error {
	s, err := f.state()
	if err != nil {
		return err
	}
	if s.how != 0 {
		return Errorf(BadFid, "the file is open already")
	}
	p, err := f.follow(ctx, s.at, new(int))
	if err != nil {
		return err
	}
	info, err := f.tree.info(ctx, f.who, p)
	if err != nil {
		return err
	}
	want, err := wanted(how)
	if err != nil {
		return err
	}
	if info.Mode.IsDir() && how != Read {
		return IsDir
	}
	if !f.may(p, info, want) {
		return Permission
	}
	return f.enter(ctx, p, how)
}

// wanted is the permission that an open needs.
func wanted(how Flags) (uint32, error) {
	var want uint32
	if how&Read != 0 {
		want |= read
	}
	if how&(Write|Truncate) != 0 {
		want |= write
	}
	if how&^(Read|Write|Truncate) != 0 || want == 0 || how&Truncate != 0 && how&Write == 0 {
		return 0, Errorf(Invalid, "an open is for reading, writing or both, and truncates only when writing")
	}
	return want, nil
}

// enter opens the node at p, permission having been checked, and stands on it.
func (f *fid) enter(ctx context.Context, p place, how Flags) error {
	var h Handle
	if _, dir := p.node().(Directory); !dir {
		o, ok := p.node().(Opener)
		if !ok {
			return Permission
		}
		var err error
		if h, err = o.Open(ctx, f.who, how); err != nil {
			return err
		}
		if d, ok := h.(drafter); ok && how&Write != 0 {
			err = d.charge(f.tree.unfinished.of(f.who))
		}
		if err != nil {
			h.Close()
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead || f.how != 0 {
		if h != nil {
			h.Close()
		}
		return BadFid
	}
	f.at, f.how, f.handle = p, how, h
	return nil
}

func (f *fid) Create(ctx context.Context, name string, perm FileMode, how Flags) error {
	s, err := f.state()
	if err != nil {
		return f.fail("create", err)
	}
	return f.failAt("create", s.at.childPath(name), f.create(ctx, s, name, perm, how))
}

func (f *fid) create(ctx context.Context, s state, name string, perm FileMode, how Flags) error {
	if s.how != 0 {
		return Errorf(BadFid, "the directory is open; create from a fid that is not")
	}
	if err := checkName(name); err != nil {
		return err
	}
	if _, err := wanted(how); err != nil {
		return err
	}
	if perm.IsDir() && how != Read {
		return IsDir
	}
	p, err := f.follow(ctx, s.at, new(int))
	if err != nil {
		return err
	}
	dir, ok := p.node().(Directory)
	if !ok {
		return NotDir
	}
	if err := f.alter(ctx, p, name); err != nil {
		return err
	}
	if _, err := dir.Lookup(ctx, name); !errors.Is(err, NotExist) {
		if err == nil {
			err = Exist
		}
		return err
	}
	maker, ok := dir.(Creator)
	if !ok {
		return Errorf(Fixed, "nothing can be made here")
	}
	n, err := maker.Create(ctx, f.who, name, perm)
	if err != nil {
		return err
	}
	return f.enter(ctx, p.child(name, n), how)
}

func (f *fid) Readlink(ctx context.Context) (string, error) {
	s, err := f.state()
	if err != nil {
		return "", f.fail("readlink", err)
	}
	link, ok := s.at.node().(Linker)
	if !ok {
		return "", f.fail("readlink", Errorf(Invalid, "not a symbolic link"))
	}
	target, err := link.Readlink(ctx)
	return target, f.fail("readlink", err)
}

func (f *fid) Clunk(context.Context) error {
	h, err := f.retire()
	if err != nil {
		return f.fail("clunk", err)
	}
	if h == nil {
		return nil
	}
	return f.fail("close", h.Close())
}

// retire ends the use of f and returns the handle that is still to be closed.
func (f *fid) retire() (Handle, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return nil, BadFid
	}
	h := f.handle
	f.dead, f.how, f.handle = true, 0, nil
	return h, nil
}
