package fs

import (
	"context"
	"hash/fnv"
	"time"
)

// Tree is a file tree in this process: a root node, and an owner for every
// file whose node names none. It gives out local Fids, which do all the
// permission checks, keeps each caller's last error, and bounds what each has
// written and not finished.
type Tree struct {
	root     Node
	uid, gid uint32
	began    time.Time // the time of files that have none
	errs     errlog

	unfinished unfinished
}

var _ Attacher = (*Tree)(nil)

// NewTree returns the tree below root, which is a [Directory] as a rule. Files
// belong to uid and gid unless their node says otherwise.
func NewTree(root Node, uid, gid uint32) *Tree {
	return &Tree{root: root, uid: uid, gid: gid, began: time.Now()}
}

// Attach returns a Fid on the root, for who.
func (t *Tree) Attach(_ context.Context, who *Identity) (Fid, error) {
	if who == nil {
		return nil, &Error{Op: "attach", Kind: Permission}
	}
	if err := who.Valid(); err != nil {
		return nil, locate("attach", "", err)
	}
	return &fid{tree: t, who: who, at: place{{node: t.root}}}, nil
}

// Client returns a [Client] of the tree that acts for who.
func (t *Tree) Client(ctx context.Context, who *Identity) (*Client, error) {
	root, err := t.Attach(ctx, who)
	if err != nil {
		return nil, err
	}
	return NewClient(root), nil
}

// Errstr returns the file that tells its reader his own last error, as a line,
// or nothing if there was none. Errors are kept for each user and terminal
// session, so that two shells of a user do not see each other's.
func (t *Tree) Errstr() Node {
	return &Value{Mode: 0o444, Get: func(_ context.Context, who *Identity) ([]byte, time.Time, error) {
		text, at := t.errs.last(who)
		return []byte(text), at, nil
	}}
}

// info describes the file at p as who sees it, with what the node left out
// filled in.
func (t *Tree) info(ctx context.Context, who *Identity, p place) (Info, error) {
	var info Info
	var err error
	if v, ok := p.node().(Viewer); ok {
		info, err = v.StatFor(ctx, who)
	} else {
		info, err = p.node().Stat(ctx)
	}
	return t.complete(p, info), err
}

func (t *Tree) complete(p place, info Info) Info {
	info.Name = p.name()
	if info.Name == "" {
		info.Name = "/"
	}
	if info.UID == 0 && info.GID == 0 {
		info.UID, info.GID = t.uid, t.gid
	}
	if info.ID == 0 {
		h := fnv.New64a()
		h.Write([]byte(p.path()))
		info.ID = h.Sum64()
	}
	if info.MTime.IsZero() {
		info.MTime = t.began
	}
	return info
}
