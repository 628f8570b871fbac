package ninep

import (
	"context"
	"strings"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// walk is walk(5): a walk that gets somewhere but not to the end succeeds with
// fewer qids, and then leaves newfid alone.
func (s *session) walk(ctx context.Context, f *fid, t *proto.TWalk) (proto.FCall, error) {
	if err := s.checkWalk(f, t); err != nil {
		return nil, err
	}
	to, qids, err := walkAll(ctx, f, t.Wname)
	reply := &proto.RWalk{Header: header(proto.Rwalk, t.Tag), Nwqid: uint16(len(qids)), Wqid: qids}
	if err != nil {
		if len(qids) == 0 {
			return nil, err
		}
		return reply, nil
	}
	if t.Newfid == t.Fid {
		s.mu.Lock()
		s.fids[t.Fid] = to
		s.mu.Unlock()
		return reply, f.file.Clunk(ctx)
	}
	if err := s.add(t.Newfid, to); err != nil {
		to.file.Clunk(ctx)
		return nil, err
	}
	return reply, nil
}

func (s *session) checkWalk(f *fid, t *proto.TWalk) error {
	switch {
	case f.how != 0:
		return fs.Errorf(fs.BadFid, "fid %d is open; walk from one that is not", t.Fid)
	case len(t.Wname) > maxWalk:
		return fs.Errorf(fs.Invalid, "walk of %d names; at most %d go into one message", len(t.Wname), maxWalk)
	case len(t.Wname) > 0 && !f.info.Mode.IsDir():
		return fs.NotDir
	case t.Newfid != t.Fid:
		return s.free(t.Newfid)
	}
	return nil
}

// walkAll walks from f, name by name. The qids tell how far it came, also when
// it fails; the new fid is there only when it did not.
func walkAll(ctx context.Context, f *fid, names []string) (*fid, []proto.Qid, error) {
	at := &fid{file: f.file, info: f.info, link: f.link}
	if len(names) == 0 {
		file, err := f.file.Walk(ctx)
		at.file = file
		return at, nil, err
	}
	qids := make([]proto.Qid, 0, len(names))
	for _, name := range names {
		next, err := step(ctx, at, name)
		if at.file != f.file {
			at.file.Clunk(ctx)
		}
		if err != nil {
			return nil, qids, err
		}
		at = next
		qids = append(qids, toQid(at.info))
	}
	return at, qids, nil
}

func step(ctx context.Context, at *fid, name string) (*fid, error) {
	if !at.info.Mode.IsDir() {
		return nil, fs.NotDir
	}
	if err := checkName(name); err != nil {
		return nil, err
	}
	file, err := at.file.Walk(ctx, name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat(ctx)
	if err != nil {
		file.Clunk(ctx)
		return nil, err
	}
	return newFid(file, resolve(ctx, at.file, name, info), info), nil
}

// checkName refuses what cannot be the name of a file, whatever the tree says.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fs.NameTooLong
	case name == "" || name == "." || strings.ContainsAny(name, "/\x00"):
		return fs.Errorf(fs.NotExist, "%q cannot be the name of a file", name)
	}
	return nil
}

// checkNewName is checkName for a file that is about to get the name.
func checkNewName(name string) error {
	if err := checkName(name); err != nil && fs.KindOf(err) == fs.NameTooLong {
		return err
	} else if err != nil || name == ".." {
		return fs.Errorf(fs.Invalid, "%q cannot be the name of a file", name)
	}
	return nil
}
