package ninep

import (
	"context"
	"errors"
	"path"
	"sync"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// remote is a fid on the other side of a Conn.
type remote struct {
	c    *Conn
	num  uint32
	open bool

	mu   sync.Mutex
	path string // as far as the client knows
}

var _ fs.Fid = (*remote)(nil)

// Attach returns the root of the server's tree. who is ignored: the server asks
// the kernel.
func (c *Conn) Attach(ctx context.Context, who *fs.Identity) (fs.Fid, error) {
	r, err := c.newRemote("")
	if err != nil {
		return nil, err
	}
	uname := "none"
	if who != nil && who.Name != "" {
		uname = clip(who.Name, maxName)
	}
	_, err = c.rpc(ctx, proto.Rattach, nil, func(tag uint16) proto.FCall {
		return &proto.TAttach{
			Header: header(proto.Tattach, tag), Fid: r.num, Afid: noFid, Uname: uname,
		}
	})
	if err != nil {
		r.forget()
		return nil, r.fail("attach", err)
	}
	return r, nil
}

func (c *Conn) newRemote(path string) (*remote, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	num, ok := c.fids.get()
	if !ok {
		return nil, fs.Errorf(fs.Again, "too many fids on this connection")
	}
	return &remote{c: c, num: num, path: path}, nil
}

// forget gives back the number of a fid that the server has not.
func (r *remote) forget() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.fids.put(r.num)
}

func (r *remote) at() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.path
}

func (r *remote) moved(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.path = path
}

// fail gives err the operation and the path.
func (r *remote) fail(op string, err error) error {
	if err == nil {
		return nil
	}
	e := &fs.Error{Op: op, Path: r.at(), Kind: fs.KindOf(err), Err: err}
	var from *fs.Error
	if errors.As(err, &from) {
		e.Text, e.Err = from.Text, from.Err
	}
	return e
}

func (r *remote) Walk(ctx context.Context, names ...string) (fs.Fid, error) {
	to, err := r.c.newRemote(path.Join(append([]string{r.at()}, names...)...))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if len(name) > maxName {
			to.forget()
			return nil, to.fail("walk", fs.NameTooLong)
		}
	}
	n := r.c.walkable(names)
	if err := r.walk(ctx, to, names[:n]); err != nil {
		to.forget()
		return nil, to.fail("walk", err)
	}
	for names = names[n:]; len(names) > 0; names = names[n:] {
		n = r.c.walkable(names)
		if err := to.walk(ctx, to, names[:n]); err != nil {
			to.Clunk(context.WithoutCancel(ctx))
			return nil, to.fail("walk", err)
		}
	}
	return to, nil
}

// walkable is how many of names go into one message.
func (c *Conn) walkable(names []string) int {
	room := int(c.msize) - frameHeader - 10
	for i, name := range names {
		if room -= 2 + len(name); i == maxWalk || room < 0 && i > 0 {
			return i
		}
	}
	return len(names)
}

// walk makes to stand names further than r, or fails and leaves both alone.
func (r *remote) walk(ctx context.Context, to *remote, names []string) error {
	got, err := r.twalk(ctx, to, names)
	if err != nil || got == len(names) {
		return err
	}
	return r.whyShort(ctx, names[:got+1])
}

// twalk is one Twalk; it tells how many of the names were walked.
func (r *remote) twalk(ctx context.Context, to *remote, names []string) (int, error) {
	reply, err := r.c.rpc(ctx, proto.Rwalk, nil, func(tag uint16) proto.FCall {
		return &proto.TWalk{
			Header: header(proto.Twalk, tag), Fid: r.num, Newfid: to.num,
			Nwname: uint16(len(names)), Wname: names,
		}
	})
	if err != nil {
		return 0, err
	}
	got := len(reply.(*proto.RWalk).Wqid)
	if got > len(names) {
		return 0, fs.Errorf(fs.IO, "the server walked further than it was told")
	}
	return got, nil
}

// whyShort finds out why the last of names could not be walked: a short Rwalk
// has no reason, but a walk of that name alone fails with it.
func (r *remote) whyShort(ctx context.Context, names []string) error {
	dir, err := r.c.newRemote("")
	if err != nil {
		return err
	}
	last := len(names) - 1
	if got, err := r.twalk(ctx, dir, names[:last]); err != nil || got < last {
		dir.forget()
		return firstErr(err, fs.NotExist)
	}
	defer dir.Clunk(context.WithoutCancel(ctx))
	_, err = dir.twalk(ctx, dir, names[last:])
	return firstErr(err, fs.NotExist)
}

func (r *remote) Stat(ctx context.Context) (fs.Info, error) {
	reply, err := r.c.rpc(ctx, proto.Rstat, nil, func(tag uint16) proto.FCall {
		return &proto.TStat{Header: header(proto.Tstat, tag), Fid: r.num}
	})
	if err != nil {
		return fs.Info{}, r.fail("stat", err)
	}
	return fromStat(&reply.(*proto.RStat).Stat, &r.c.names), nil
}

// Clunk returns when the server has answered or ctx is done; the fid is gone in
// any case.
func (r *remote) Clunk(ctx context.Context) error {
	return r.fail("close", r.c.rpcEnd(ctx, proto.Rclunk, r.num, func(tag uint16) proto.FCall {
		return &proto.TClunk{Header: header(proto.Tclunk, tag), Fid: r.num}
	}))
}

func (r *remote) Remove(ctx context.Context) error {
	return r.fail("remove", r.c.rpcEnd(ctx, proto.Rremove, r.num, func(tag uint16) proto.FCall {
		return &proto.TRemove{Header: header(proto.Tremove, tag), Fid: r.num}
	}))
}
