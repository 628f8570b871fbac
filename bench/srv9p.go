package main

import (
	"context"
	"net"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/srv9p"

	"mikan/fs"
)

// serveSrv9p has 9fans' srv9p serve the tree. Its messages are of 8 KiB at most.
func serveSrv9p(nc net.Conn, tree fs.Attacher) {
	srv := &srv9p.Server{
		Attach: func(ctx context.Context, fid, _ *srv9p.Fid, _, _ string) (plan9.Qid, error) {
			f, err := tree.Attach(ctx, me)
			if err != nil {
				return plan9.Qid{}, err
			}
			return stand(ctx, fid, f)
		},
		Walk: walk,
		Open: func(ctx context.Context, fid *srv9p.Fid, mode uint8) error {
			return fid.Aux().(fs.Fid).Open(ctx, fs.Read)
		},
		Read: func(ctx context.Context, fid *srv9p.Fid, data []byte, off int64) (int, error) {
			return fid.Aux().(fs.Fid).Read(ctx, data, off)
		},
		Stat: func(ctx context.Context, fid *srv9p.Fid) (*plan9.Dir, error) {
			i, err := fid.Aux().(fs.Fid).Stat(ctx)
			if err != nil {
				return nil, err
			}
			at := uint32(i.MTime.Unix())
			return &plan9.Dir{
				Qid: qid(i), Mode: perm(i), Atime: at, Mtime: at, Length: uint64(i.Size),
				Name: i.Name, Uid: me.Name, Gid: me.Name, Muid: me.Name,
			}, nil
		},
		Clunk: func(fid *srv9p.Fid) {
			if f, ok := fid.Aux().(fs.Fid); ok {
				_ = f.Clunk(context.Background())
			}
		},
	}
	srv.Serve(nc, nc)
}

// walk walks all names at once, as our own session does.
func walk(ctx context.Context, fid, newfid *srv9p.Fid, names []string) ([]plan9.Qid, error) {
	at := fid.Aux().(fs.Fid)
	var qids []plan9.Qid
	f, err := at.Walk(ctx)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		if f, err = f.Walk(ctx, name); err == nil {
			var q plan9.Qid
			q, err = stand(ctx, newfid, f)
			qids = append(qids, q)
		}
	}
	if err == nil && len(names) == 0 {
		_, err = stand(ctx, newfid, f)
	}
	return qids, err
}

// stand puts fid on f.
func stand(ctx context.Context, fid *srv9p.Fid, f fs.Fid) (plan9.Qid, error) {
	i, err := f.Stat(ctx)
	if err != nil {
		return plan9.Qid{}, err
	}
	fid.SetAux(f)
	fid.SetQid(qid(i))
	return qid(i), nil
}

func perm(i fs.Info) plan9.Perm {
	p := plan9.Perm(i.Mode.Perm())
	if i.Mode.IsDir() {
		p |= plan9.DMDIR
	}
	return p
}

func qid(i fs.Info) plan9.Qid {
	return plan9.Qid{Path: i.ID, Vers: i.Version, Type: uint8(perm(i) >> 24)}
}
