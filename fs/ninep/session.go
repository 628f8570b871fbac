package ninep

import (
	"context"
	"fmt"
	iofs "io/fs"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// session is what one client sees of the tree: the fids between a Tversion and
// the next. Each request is a message in and a message out; when and in what
// order is the loop's business. It may be used from several goroutines as far
// as an [fs.Fid] may be.
type session struct {
	tree  fs.Attacher
	who   *fs.Identity
	names *names
	log   *slog.Logger
	bufs  *sync.Pool // of *[]byte, maxMsize long

	begun   bool // a version was agreed upon
	msize   uint32
	dialect bool // the client offered "9P2000.something"

	mu   sync.Mutex
	fids map[uint32]*fid
}

// fid is a client's handle on a file.
type fid struct {
	file fs.Fid
	info fs.Info  // as it was when the fid came to stand here
	how  fs.Flags // how it was opened; 0: it was not
	dir  *listing // of an open directory
	link bool     // a symbolic link, described by info as what it leads to

	queues // the loop's: what waits for this fid
}

// atOnce reports whether a request can be handled where it was read: a write
// that the file takes at once, see [fs.Prompt].
func (f *fid) atOnce(call proto.FCall) bool {
	if _, write := call.(*proto.TWrite); !write || f.writes.busy() {
		return false
	}
	p, ok := f.file.(fs.Prompt)
	return ok && p.Prompt()
}

// newFid is a fid on a file that is described as info and really is what.
func newFid(file fs.Fid, info, what fs.Info) *fid {
	return &fid{file: file, info: info, link: what.Mode&iofs.ModeSymlink != 0}
}

func newSession(tree fs.Attacher, who *fs.Identity, names *names, log *slog.Logger, bufs *sync.Pool) *session {
	return &session{
		tree: tree, who: who, names: names, log: log, bufs: bufs,
		msize: maxMsize,
		fids:  make(map[uint32]*fid),
	}
}

// bind finds the fid that a request is about, nil if it is about none. A clunk
// or a remove takes it out of the table: from then on its number is free.
func (s *session) bind(call proto.FCall) (*fid, error) {
	num, needs, ends := fidOf(call)
	if !needs || !s.begun {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.fids[num]
	if f == nil {
		return nil, fs.Errorf(fs.BadFid, "fid %d is not in use", num)
	}
	if ends {
		delete(s.fids, num)
	}
	return f, nil
}

// fidOf is the fid that a message refers to, if any, and whether it ends it.
func fidOf(call proto.FCall) (num uint32, needs, ends bool) {
	switch t := call.(type) {
	case *proto.TWalk:
		return t.Fid, true, false
	case *proto.TOpen:
		return t.Fid, true, false
	case *proto.TCreate:
		return t.Fid, true, false
	case *proto.TRead:
		return t.Fid, true, false
	case *proto.TWrite:
		return t.Fid, true, false
	case *proto.TClunk:
		return t.Fid, true, true
	case *proto.TRemove:
		return t.Fid, true, true
	case *proto.TStat:
		return t.Fid, true, false
	case *proto.TWstat:
		return t.Fid, true, false
	}
	return 0, false, false
}

// handle answers a request about f, which bind gave. It never fails: what goes
// wrong, a panic too, is the answer.
func (s *session) handle(ctx context.Context, f *fid, call proto.FCall) (reply proto.FCall) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("9p request panicked", "request", fmt.Sprintf("%T", call),
				"panic", p, "stack", string(debug.Stack()))
			reply = s.rerror(call.GetTag(), fs.Errorf(fs.IO, "internal error; the daemon's log has more"))
		}
	}()
	reply, err := s.do(ctx, f, call)
	if err != nil {
		return s.rerror(call.GetTag(), err)
	}
	return reply
}

func (s *session) do(ctx context.Context, f *fid, call proto.FCall) (proto.FCall, error) {
	if t, ok := call.(*proto.TRVersion); ok && t.Type == proto.Tversion {
		return s.version(t)
	}
	if !s.begun {
		return nil, fs.Errorf(fs.Invalid, "the first message must be a Tversion")
	}
	switch t := call.(type) {
	case *proto.TAuth:
		return nil, fs.Errorf(fs.NotSupported, "authentication is not required: attach with afid NOFID")
	case *proto.TAttach:
		return s.attach(ctx, t)
	case *proto.TWalk:
		return s.walk(ctx, f, t)
	case *proto.TOpen:
		return s.open(ctx, f, t)
	case *proto.TCreate:
		return s.create(ctx, f, t)
	case *proto.TRead:
		return s.read(ctx, f, t)
	case *proto.TWrite:
		return s.write(ctx, f, t)
	case *proto.TClunk:
		// The fid is gone whatever happens to the request.
		err := f.file.Clunk(context.WithoutCancel(ctx))
		return &proto.RClunk{Header: header(proto.Rclunk, t.Tag)}, err
	case *proto.TRemove:
		err := f.file.Remove(context.WithoutCancel(ctx))
		return &proto.RRemove{Header: header(proto.Rremove, t.Tag)}, err
	case *proto.TStat:
		return s.stat(ctx, f, t)
	case *proto.TWstat:
		return s.wstat(ctx, f, t)
	}
	return nil, fs.Errorf(fs.NotSupported, "message type %T is not a request of 9P2000", call)
}

func header(kind uint8, tag uint16) proto.Header { return proto.Header{Type: kind, Tag: tag} }

// version agrees on a version and a message size. The loop has ended what was
// before.
func (s *session) version(t *proto.TRVersion) (proto.FCall, error) {
	s.begun, s.dialect, s.msize = false, false, maxMsize
	if t.Msize < minMsize {
		return nil, fs.Errorf(fs.Invalid, "msize %d is too small; offer at least %d", t.Msize, minMsize)
	}
	s.msize = min(t.Msize, maxMsize)
	reply := &proto.TRVersion{
		Header: header(proto.Rversion, t.Tag), Msize: s.msize, Version: "unknown",
	}
	base, dialect, dotted := strings.Cut(t.Version, ".")
	if base == "9P2000" && dotted == (dialect != "") {
		s.begun, s.dialect = true, dotted
		reply.Version = "9P2000"
	}
	return reply, nil
}

func (s *session) attach(ctx context.Context, t *proto.TAttach) (proto.FCall, error) {
	if t.Afid != noFid {
		return nil, fs.Errorf(fs.BadFid, "authentication is not required: attach with afid NOFID")
	}
	if t.Aname != "" && t.Aname != "/" {
		return nil, fs.Errorf(fs.NotExist, "there is one tree here: attach with an empty aname and walk to %q", t.Aname)
	}
	if err := s.free(t.Fid); err != nil {
		return nil, err
	}
	root, err := s.tree.Attach(ctx, s.who)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(ctx)
	if err == nil {
		err = s.add(t.Fid, &fid{file: root, info: info})
	}
	if err != nil {
		root.Clunk(ctx)
		return nil, err
	}
	return &proto.RAttach{Header: header(proto.Rattach, t.Tag), Qid: toQid(info)}, nil
}

// free reports whether num can become a new fid.
func (s *session) free(num uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.freeLocked(num)
}

func (s *session) freeLocked(num uint32) error {
	switch {
	case num == noFid:
		return fs.Errorf(fs.BadFid, "NOFID is not a fid")
	case s.fids[num] != nil:
		return fs.Errorf(fs.BadFid, "fid %d is in use", num)
	case len(s.fids) >= maxFids:
		return fs.Errorf(fs.Again, "this connection has %d fids; clunk some", maxFids)
	}
	return nil
}

func (s *session) add(num uint32, f *fid) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.freeLocked(num); err != nil {
		return err
	}
	s.fids[num] = f
	return nil
}

// clunkAll ends the session's fids. Nothing is in progress.
func (s *session) clunkAll(ctx context.Context) {
	s.mu.Lock()
	fids := s.fids
	s.fids = make(map[uint32]*fid)
	s.mu.Unlock()
	for _, f := range fids {
		if err := f.file.Clunk(ctx); err != nil {
			s.log.Debug("9p clunk at the end of a session failed", "error", err)
		}
	}
}
