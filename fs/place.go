package fs

import (
	"context"
	"strings"
)

const (
	maxName  = 255 // bytes of a name, as Linux has it
	maxLinks = 16  // symbolic links followed in one walk
)

// place is a file and the way to it: the nodes from the root down, of which
// the first has no name. A place is not modified once made.
type place []step

type step struct {
	name string
	node Node
}

func (p place) name() string { return p[len(p)-1].name }
func (p place) node() Node   { return p[len(p)-1].node }

// path is the place's name from the root, without a leading slash.
func (p place) path() string {
	names := make([]string, 0, len(p))
	for _, s := range p[1:] {
		names = append(names, s.name)
	}
	return strings.Join(names, "/")
}

// parent is the directory that holds p; the root's is the root.
func (p place) parent() place {
	if len(p) == 1 {
		return p
	}
	return p[:len(p)-1]
}

func (p place) child(name string, n Node) place {
	return append(p[:len(p):len(p)], step{name, n})
}

// below reports whether p is q or lies below it.
func (p place) below(q place) bool {
	return within(q.path(), p.path())
}

// childPath is the path of name in p.
func (p place) childPath(name string) string {
	return strings.TrimPrefix(p.path()+"/"+name, "/")
}

// checkName refuses what cannot be a file's name.
func checkName(name string) error {
	switch {
	case name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00"):
		return Errorf(Invalid, "%.64q cannot be a file's name", name)
	case len(name) > maxName:
		return NameTooLong
	}
	return nil
}

// walk goes from p along names, each symbolic link on the way followed, the
// last name not. Links are followed here and not by the nodes, so that every
// directory that they lead through is checked for the caller.
func (f *fid) walk(ctx context.Context, p place, names []string, links *int) (place, error) {
	for _, name := range names {
		var err error
		if p, err = f.follow(ctx, p, links); err != nil {
			return nil, err
		}
		if p, err = f.step(ctx, p, name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// follow returns where p leads if it is a symbolic link, else p.
func (f *fid) follow(ctx context.Context, p place, links *int) (place, error) {
	for {
		link, ok := p.node().(Linker)
		if !ok {
			return p, nil
		}
		if *links++; *links > maxLinks {
			return nil, Errorf(Invalid, "more than %d symbolic links on the way", maxLinks)
		}
		target, err := link.Readlink(ctx)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(target, "/") {
			return nil, NotExist
		}
		var names []string
		for _, name := range strings.Split(target, "/") {
			if name != "" && name != "." {
				names = append(names, name)
			}
		}
		if p, err = f.walk(ctx, p.parent(), names, links); err != nil {
			return nil, err
		}
	}
}

// step goes from the directory p to name, one down or, for "..", up.
func (f *fid) step(ctx context.Context, p place, name string) (place, error) {
	dir, ok := p.node().(Directory)
	if !ok {
		return nil, NotDir
	}
	if name == ".." {
		return p.parent(), nil
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	info, err := f.tree.info(ctx, f.who, p)
	if err != nil {
		return nil, err
	}
	if !f.may(p, info, search) {
		return nil, Permission
	}
	n, err := f.lookup(ctx, dir, p, name)
	if err != nil {
		return nil, err
	}
	return p.child(name, n), nil
}

// lookup finds name in the directory at p, if the caller may know of it: his
// rights list shows it, or it is one of the few that grant themselves. No other
// name is looked for, so that a client does not touch what it cannot see.
func (f *fid) lookup(ctx context.Context, dir Directory, p place, name string) (Node, error) {
	r := f.who.Rights
	if r == nil || r.Shows(p.childPath(name)) {
		return dir.Lookup(ctx, name)
	}
	if _, ok := dir.(Granter); !ok && name != BodyDir {
		return nil, NotExist
	}
	n, err := dir.Lookup(ctx, name)
	if err != nil || !f.granted(n) {
		return nil, NotExist
	}
	return n, nil
}

// granted reports whether n lets the caller in, whatever his rights list says.
func (f *fid) granted(n Node) bool {
	g, ok := n.(Granter)
	return ok && g.Grants(f.who)
}

// What a permission check asks for; the bits are Unix's.
const (
	search = 1
	write  = 2
	read   = 4
)

// may reports whether the caller may use the file at p so: by its mode bits, or
// by his rights list if he has one, or as a [Granter] lets him. A directory on the way to a right can be
// searched and listed; the list shows what the rights show.
func (f *fid) may(p place, info Info, want uint32) bool {
	r := f.who.Rights
	switch {
	case r == nil:
		return f.who.access(info, want)
	case f.granted(p.node()):
		return true
	case info.Mode.IsDir() && want&write == 0:
		return r.Shows(p.path())
	}
	return r.Allows(p.path(), want&read != 0, want&write != 0)
}

// alter checks that the caller may make, remove or rename name in dir.
func (f *fid) alter(ctx context.Context, dir place, name string) error {
	if r := f.who.Rights; r != nil {
		if !r.Allows(dir.childPath(name), false, true) {
			return Permission
		}
		return nil
	}
	info, err := f.tree.info(ctx, f.who, dir)
	if err != nil {
		return err
	}
	if !f.who.access(info, write|search) {
		return Permission
	}
	return nil
}
