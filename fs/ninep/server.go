package ninep

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"mikan/fs"
)

// defaultTimeout is how long a client may take to read one buffer of replies.
const defaultTimeout = 30 * time.Second

// Server serves a tree over 9P2000. Its fields are not changed once it serves.
// It must not be copied.
type Server struct {
	Tree fs.Attacher
	// Log is told of connections that end badly and of requests that panic; nil
	// is slog.Default().
	Log *slog.Logger
	// WriteTimeout is how long a client may leave its replies unread before it is
	// hung up on; 0 is half a minute.
	WriteTimeout time.Duration
	// MaxConns is how many connections a user may have at a time, root too, of
	// those that Serve accepts; one more gets Again as its first reply. 0 is 256.
	MaxConns int

	crowd crowd
	once  sync.Once
	names names
	bufs  sync.Pool
}

// Serve serves each connection that l, a Unix socket, accepts, as the user whom
// the kernel names as the peer. It closes l, and returns when all connections
// have ended: with nil after ctx was done, which hangs them all up, and
// otherwise with why nothing more could be accepted.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	var conns sync.WaitGroup
	err := s.accept(ctx, l, &conns)
	if ctx.Err() != nil {
		err = nil
	}
	cancel()
	stop()
	l.Close()
	conns.Wait()
	return err
}

func (s *Server) accept(ctx context.Context, l net.Listener, conns *sync.WaitGroup) error {
	for {
		nc, err := l.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			// Connections end and give descriptors back.
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		if err != nil {
			return err
		}
		conns.Go(func() { s.servePeer(ctx, nc) })
	}
}

// servePeer serves a connection whose peer the kernel knows.
func (s *Server) servePeer(ctx context.Context, nc net.Conn) {
	s.init()
	who, err := peer(nc, &s.names)
	if err != nil {
		nc.Close()
		s.Log.Warn("9p connection refused", "error", err)
		return
	}
	n := s.crowd.enter(who.UID)
	defer s.crowd.leave(who.UID)
	if n > s.MaxConns {
		s.refuse(ctx, nc, who, n-s.MaxConns)
		return
	}
	if err := s.ServeConn(ctx, nc, who); err != nil {
		s.Log.Info("9p connection ended", "user", who.Name, "pid", who.PID, "error", err)
	}
}

// refuse hangs up on the nth connection too many of who. It says why, unless
// many are being told that already.
func (s *Server) refuse(ctx context.Context, nc net.Conn, who *fs.Identity, n int) {
	defer nc.Close()
	if n > maxTold {
		return
	}
	s.Log.Warn("9p connection refused", "user", who.Name, "pid", who.PID, "connections", s.MaxConns)
	tell(ctx, nc, fs.Errorf(fs.Again, "you have %d connections to this server already; end some first", s.MaxConns))
}

// ServeConn serves one connection for who, which may have a rights list. It
// returns after the client has hung up or ctx is done, when nothing is left in
// progress and all fids are clunked, and has then closed nc. The error is nil
// unless the client broke the protocol or the connection failed.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn, who *fs.Identity) error {
	s.init()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// A read that is under way ends when its deadline has passed; what was
	// answered can still be written.
	stop := context.AfterFunc(ctx, func() { nc.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()

	out := newOutput(nc, s.WriteTimeout)
	written := make(chan error, 1)
	go func() {
		err := out.run()
		cancel()
		written <- err
	}()
	c := newServerConn(ctx, nc, s.session(who), out)
	err := c.serve()
	hungUp := ctx.Err() != nil
	out.close()
	if werr := <-written; werr != nil {
		return connError(werr)
	}
	if hungUp {
		return nil
	}
	return connError(err)
}

// connError leaves out what only says that the peer is gone.
func connError(err error) error {
	if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return nil
	}
	return err
}

func (s *Server) init() {
	s.once.Do(func() {
		if s.Log == nil {
			s.Log = slog.Default()
		}
		if s.WriteTimeout == 0 {
			s.WriteTimeout = defaultTimeout
		}
		if s.MaxConns == 0 {
			s.MaxConns = defaultConns
		}
		s.bufs.New = newBuffer
	})
}

func (s *Server) session(who *fs.Identity) *session {
	return newSession(s.Tree, who, &s.names, s.Log, &s.bufs)
}
