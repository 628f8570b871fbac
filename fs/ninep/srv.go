package ninep

import (
	"context"

	"github.com/knusbaum/go9p"
	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// A session is a go9p.Srv for one connection, so that go9p's own loop can serve
// it too: a second opinion, which the tests ask for.
var (
	_ go9p.Srv  = (*session)(nil)
	_ go9p.Conn = (*session)(nil)
)

// Srv is a session of s for who, to be served by go9p's loop on one connection.
// That loop has faults which this package's own has not; it is there to compare
// with.
func (s *Server) Srv(who *fs.Identity) go9p.Srv {
	s.init()
	return s.session(who)
}

// serve handles a request that some other loop has read.
func (s *session) serve(c go9p.Conn, call proto.FCall) (proto.FCall, error) {
	f, err := s.bind(call)
	if err != nil {
		return s.rerror(call.GetTag(), err), nil
	}
	return s.handle(c.TagContext(call.GetTag()), f, call), nil
}

// NewConn returns the session itself, which serves one connection.
func (s *session) NewConn() go9p.Conn { return s }

// TagContext is the context of a request. go9p's loop cancels none.
func (s *session) TagContext(uint16) context.Context { return context.Background() }

// DropContext is called at the end of a request.
func (s *session) DropContext(uint16) {}

func (s *session) Version(c go9p.Conn, t *proto.TRVersion) (proto.FCall, error) {
	return s.serve(c, t)
}
func (s *session) Auth(c go9p.Conn, t *proto.TAuth) (proto.FCall, error)     { return s.serve(c, t) }
func (s *session) Attach(c go9p.Conn, t *proto.TAttach) (proto.FCall, error) { return s.serve(c, t) }
func (s *session) Walk(c go9p.Conn, t *proto.TWalk) (proto.FCall, error)     { return s.serve(c, t) }
func (s *session) Open(c go9p.Conn, t *proto.TOpen) (proto.FCall, error)     { return s.serve(c, t) }
func (s *session) Create(c go9p.Conn, t *proto.TCreate) (proto.FCall, error) { return s.serve(c, t) }
func (s *session) Read(c go9p.Conn, t *proto.TRead) (proto.FCall, error)     { return s.serve(c, t) }
func (s *session) Write(c go9p.Conn, t *proto.TWrite) (proto.FCall, error)   { return s.serve(c, t) }
func (s *session) Clunk(c go9p.Conn, t *proto.TClunk) (proto.FCall, error)   { return s.serve(c, t) }
func (s *session) Remove(c go9p.Conn, t *proto.TRemove) (proto.FCall, error) { return s.serve(c, t) }
func (s *session) Stat(c go9p.Conn, t *proto.TStat) (proto.FCall, error)     { return s.serve(c, t) }
func (s *session) Wstat(c go9p.Conn, t *proto.TWstat) (proto.FCall, error)   { return s.serve(c, t) }
