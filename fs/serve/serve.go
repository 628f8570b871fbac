package serve

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mikan/fs"
)

// grace is how long an answer may take to be written when it is all over: what
// was done must be said if that is still possible.
const grace = 5 * time.Second

// maxHeld is how many requests wait here; a service puts no more to one client.
const maxHeld = 256

// Handler answers a request. Its ctx ends with that of [File], and when the
// service does.
type Handler func(ctx context.Context, r *Request) Answer

// Options are how a file is served. The zero value serves one request after the
// other.
type Options struct {
	// Concurrency is how many requests are handled at the same time; 0: one.
	Concurrency int
	// Refused is told of answers that the service did not take, most often because
	// they came too late. It is called by the handlers' goroutines.
	Refused func(r *Request, err error)
}

// File opens the service file name and serves it until the service ends, then
// the error is nil; until ctx is done, then it is ctx's; or until a line cannot
// be read or written. It returns when all handlers have.
func File(ctx context.Context, c *fs.Client, name string, handle Handler, opts Options) error {
	f, err := c.Open(ctx, name, fs.Read|fs.Write)
	if err != nil {
		return err
	}
	defer f.Close()
	s := &server{
		client: c, file: f, dir: path.Dir(name), handle: handle, opts: opts,
		requests: make(chan *Request, maxHeld),
	}
	err = s.run(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type server struct {
	client   *fs.Client
	file     *fs.File
	dir      string
	handle   Handler
	opts     Options
	requests chan *Request // read, and not yet handled

	writing sync.Mutex // an answer is whole before the next begins
}

// run serves, and waits for the handlers.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers, ctx := errgroup.WithContext(ctx)
	for range max(1, s.opts.Concurrency) {
		workers.Go(func() error { return s.work(ctx) })
	}
	err := s.read(ctx)
	cancel()
	if failed := workers.Wait(); failed != nil {
		return failed
	}
	return err
}

// read takes in requests until the service ends. It reads on while they wait, or
// a handler that is busy would not learn of the end.
func (s *server) read(ctx context.Context) error {
	in := bufio.NewReaderSize(reader{ctx, s.file}, fs.MaxRequestLine)
	for {
		line, err := in.ReadSlice('\n')
		// Only the end of the file itself: a connection that is lost wraps io.EOF.
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		// The line is the reader's; it is gone with the next.
		request, err := fs.ParseRequestLine(bytes.Clone(line))
		if err != nil {
			return err
		}
		select {
		case s.requests <- &Request{request, s.client, s.dir}:
			runtime.Gosched() // the handler first, and then the next read
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// work handles requests, one after the other.
func (s *server) work(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-s.requests:
			if err := s.serve(ctx, r); err != nil {
				return err
			}
		}
	}
}

// serve answers one request. Its error ends everything.
func (s *server) serve(ctx context.Context, r *Request) error {
	answer := s.handle(ctx, r)
	if answer.Verb == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := s.write(ctx, r, answer)
	switch fs.KindOf(err) {
	case fs.Invalid, fs.TooBig, fs.NotExist:
		if s.opts.Refused != nil {
			s.opts.Refused(r, err)
		}
		return nil
	}
	return err
}

func (s *server) write(ctx context.Context, r *Request, a Answer) error {
	line, err := a.line(ctx, r)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.file.WriteContext(ctx, line)
	return err
}

// reader reads a file until its context is done.
type reader struct {
	ctx  context.Context
	file *fs.File
}

func (r reader) Read(p []byte) (int, error) { return r.file.ReadContext(r.ctx, p) }
