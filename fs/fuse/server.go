package fuse

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	gofuse "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mikan/fs"
)

// How long a Close waits: for readers to take the end of the file and close,
// and then for the kernel to let go.
const (
	graceful = 500 * time.Millisecond
	forced   = 2 * time.Second
)

// Server is a mount.
type Server struct {
	dir     string
	minor   int // of the mount's device: the number of the connection
	src     fs.Attacher
	raw     *gofuse.Server
	callers callers
	handles handles

	reads     context.Context // ends when reads that wait are to end
	stopReads context.CancelFunc
	ops       context.Context // ends when even short operations are given up
	stopOps   context.CancelFunc
	done      chan struct{} // closed when nothing is served any more
	closing   sync.Once
	closed    error
}

func newServer(dir string, src fs.Attacher) *Server {
	s := &Server{dir: dir, src: src, done: make(chan struct{})}
	s.ops, s.stopOps = context.WithCancel(context.Background())
	s.reads, s.stopReads = context.WithCancel(s.ops)
	return s
}

// serve runs until the mount is gone and then gives up what was open.
func (s *Server) serve() {
	defer close(s.done)
	s.raw.Serve()
	s.stopReads()
	ctx, cancel := context.WithTimeout(context.Background(), forced)
	defer cancel()
	s.handles.clunk(ctx)
	s.stopOps()
}

// Done is closed when the mount is gone, whoever unmounted it, and every file
// that was open on it is clunked.
func (s *Server) Done() <-chan struct{} { return s.done }

// Wait waits for [Server.Done].
func (s *Server) Wait() { <-s.done }

// Close unmounts. Reads that wait get the end of the file first; who then still
// holds a file or stands in a directory loses it (ENOTCONN). It takes a few
// seconds at the most. An error means that the mount is out of sight but somebody
// still uses it through this process, which an ordinary user cannot always
// prevent; it ends with the process. Further calls return what the first did.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if err := s.unmount(); err != nil {
			s.closed = fmt.Errorf("unmount %s: %w", s.dir, err)
		}
	})
	return s.closed
}

func (s *Server) unmount() error {
	s.stopReads()
	if !s.settle() {
		s.stopOps()
	}
	if err := s.detach(); err != nil {
		return err
	}
	return s.await()
}

// settle waits until nobody uses the mount, for a while: there is no event
// that tells when the last file was closed.
func (s *Server) settle() bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	timeout := time.NewTimer(graceful)
	defer timeout.Stop()
	for s.mounted() && !idle(s.dir) {
		select {
		case <-s.done:
			return true
		case <-timeout.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// mounted reports whether it is this mount that is on its directory: somebody
// may have unmounted it, and mounted another.
func (s *Server) mounted() bool {
	m, ok := mountAt(s.dir)
	return ok && m.minor == s.minor
}

// detach takes the mount away and breaks the connection to the kernel, so that
// whoever still uses it, perhaps through a copy in another mount name space,
// gets errors and does not wait.
func (s *Server) detach() error {
	if s.mounted() {
		return detach(s.dir, s.minor)
	}
	select {
	case <-s.done: // the number may be another's by now
	default:
		abort(s.minor)
	}
	return nil
}

// await waits for the end of serving.
func (s *Server) await() error {
	timeout := time.NewTimer(forced)
	defer timeout.Stop()
	select {
	case <-s.done:
		return nil
	case <-timeout.C:
		return errors.New("still in use by a program that has a file open on it: end that program")
	}
}

// idle reports whether nobody uses the mount on dir. The kernel says so of a
// mount that could expire (umount(2)); fusermount3 unmounts it in that case.
func idle(dir string) bool {
	err := unix.Unmount(dir, unix.MNT_EXPIRE)
	if errors.Is(err, unix.EPERM) {
		err = fusermount("-u", dir)
	}
	return err == nil || errors.Is(err, unix.EAGAIN)
}

// detach unmounts dir though it is used, and breaks its connection.
func detach(dir string, minor int) error {
	err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH)
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	abort(minor)
	return fusermount("-uz", dir)
}

// abort breaks a connection through the control file system, which lets the
// user do it who mounted. It may not be there.
func abort(minor int) {
	_ = os.WriteFile(fmt.Sprintf("/sys/fs/fuse/connections/%d/abort", minor), []byte("1"), 0)
}

// fusermount runs the set-user-id helper.
func fusermount(flag, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), forced)
	defer cancel()
	path, err := helper()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, flag, "--", dir)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil && text != "" {
		return errors.New(text)
	}
	return err
}
