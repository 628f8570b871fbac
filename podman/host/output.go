package host

import (
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// output carries what a command writes to the caller's writers, a pipe and a
// goroutine each, or one of both for one writer.
type output struct {
	stdout, stderr *stream // nil: nobody wants it
}

// openOutput makes the pipes. The caller must call finish.
func openOutput(stdout, stderr io.Writer) (*output, error) {
	o := &output{}
	var err error
	if o.stdout, err = openStream(stdout); err != nil {
		return nil, err
	}
	if o.stderr = o.stdout; !same(stdout, stderr) {
		o.stderr, err = openStream(stderr)
	}
	if err != nil {
		o.finish()
		return nil, err
	}
	return o, nil
}

// files returns the command's ends, nil for the null device.
func (o *output) files() (stdout, stderr io.Writer) {
	if o.stdout != nil {
		stdout = o.stdout.child
	}
	if o.stderr != nil {
		stderr = o.stderr.child
	}
	return stdout, stderr
}

// start hands output on from now on; the command has been started.
func (o *output) start() {
	o.stdout.start()
	if o.stderr != o.stdout {
		o.stderr.start()
	}
}

// finish hands on what is still in the pipes and waits for the writers. The
// command is gone, or was never started.
func (o *output) finish() {
	o.stdout.finish()
	if o.stderr != o.stdout {
		o.stderr.finish()
	}
}

// stream carries one output. Its methods do nothing on a nil one.
type stream struct {
	w        io.Writer
	r, child *os.File
	done     chan struct{} // closed when the goroutine has ended; nil before start
}

func openStream(w io.Writer) (*stream, error) {
	if w == nil {
		return nil, nil
	}
	r, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &stream{w: w, r: r, child: child}, nil
}

func (s *stream) start() {
	if s == nil {
		return
	}
	s.child.Close()
	s.done = make(chan struct{})
	go s.carry()
}

func (s *stream) finish() {
	if s == nil {
		return
	}
	if s.done == nil {
		s.child.Close()
		s.r.Close()
		return
	}
	// Whoever still holds the other end is none of the command's; so do not
	// wait for more than is there.
	_ = s.r.SetReadDeadline(time.Now())
	<-s.done
}

// carry copies until the end of the output, or finish.
func (s *stream) carry() {
	defer close(s.done)
	defer s.r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := s.r.Read(buf)
		if n > 0 {
			if _, err := s.w.Write(buf[:n]); err != nil {
				return
			}
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.drain(buf)
			return
		}
		if err != nil {
			return
		}
	}
}

// drain copies what is in the pipe, at most one pipe full.
func (s *stream) drain(buf []byte) {
	if err := s.r.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	conn, err := s.r.SyscallConn()
	if err != nil {
		return
	}
	for left := -1; left != 0; {
		n := 0
		_ = conn.Read(func(fd uintptr) bool {
			if left < 0 {
				left, _ = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
			}
			n, _ = ignoringEINTR(func() (int, error) { return unix.Read(int(fd), buf[:min(left, len(buf))]) })
			return true // whether there was something or not
		})
		if n <= 0 {
			return
		}
		left -= n
		if _, err := s.w.Write(buf[:n]); err != nil {
			return
		}
	}
}

// ignoringEINTR repeats a system call until no signal interrupts it.
func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// same reports whether two writers are one. Writers that cannot be compared are
// not.
func same(a, b io.Writer) (eq bool) {
	defer func() {
		if recover() != nil {
			eq = false
		}
	}()
	return a == b
}
