package ninep

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// conn is the loop of one connection: it decides when a request is handled and
// in what order replies leave, and the session what they are.
type conn struct {
	session *session
	in      *frameReader
	out     *output
	base    context.Context // ends when the connection is to be hung up

	ctx    context.Context // of the requests since the last Tversion
	cancel context.CancelFunc
	queues sync.WaitGroup // the goroutines of busy queues

	mu       sync.Mutex
	requests map[uint16]*request // in progress, also by the tags of their flushes
	pending  int                 // those of them that are no flush
}

func newServerConn(ctx context.Context, nc net.Conn, s *session, out *output) *conn {
	c := &conn{
		session: s, in: newFrameReader(nc), out: out, base: ctx,
		requests: make(map[uint16]*request),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// serve reads and answers until the client hangs up or is not understood, and
// then ends whatever is left. Its error is nil after a hang-up.
func (c *conn) serve() error {
	defer c.end()
	for {
		frame, err := c.in.next()
		switch {
		case errors.Is(err, errFraming):
			if frame != nil {
				c.out.put(c.session.rerror(frameTag(frame),
					fs.Errorf(fs.TooBig, "the message is longer than the msize of %d", c.in.max)))
			}
			return err
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		c.take(frame)
		if c.in.idle() {
			c.out.wake()
		}
	}
}

// take answers one whole frame, or lets it wait in a queue.
func (c *conn) take(frame []byte) {
	call, err := c.request(frame)
	if err != nil {
		c.out.put(c.session.rerror(frameTag(frame), err))
		return
	}
	c.dispatch(call)
}

func (c *conn) request(frame []byte) (proto.FCall, error) {
	if kind := frame[4]; !isRequest(kind) {
		return nil, fs.Errorf(fs.NotSupported, "message type %d is not a request of 9P2000", kind)
	}
	if err := checkFrame(frame); err != nil {
		return nil, fs.Errorf(fs.Invalid, "%w", err)
	}
	return c.in.decode(frame)
}

func (c *conn) dispatch(call proto.FCall) {
	switch t := call.(type) {
	case *proto.TRVersion:
		c.reset()
		c.out.put(c.session.handle(c.ctx, nil, call))
		c.in.max = c.session.msize
		return
	case *proto.TFlush:
		c.flush(t)
		return
	}
	if c.inUse(call.GetTag()) {
		c.out.put(c.session.rerror(call.GetTag(),
			fs.Errorf(fs.Invalid, "tag %d is in use", call.GetTag())))
		return
	}
	f, err := c.session.bind(call)
	switch {
	case err != nil:
		c.out.put(c.session.rerror(call.GetTag(), err))
	case f != nil && c.enqueue(call, f):
	default:
		c.out.put(c.session.handle(c.ctx, f, call))
	}
}

func (c *conn) inUse(tag uint16) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests[tag] != nil
}

// enqueue lets call wait its turn, or reports that it can be handled at once.
func (c *conn) enqueue(call proto.FCall, f *fid) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, _, ends := fidOf(call); ends {
		return c.enqueueLast(call, f)
	}
	q := f.pick(call)
	if q == nil || f.atOnce(call) {
		return false
	}
	if c.pending >= maxOutstanding {
		c.out.put(c.session.rerror(call.GetTag(),
			fs.Errorf(fs.Again, "%d requests are in progress on this connection; wait for some", maxOutstanding)))
		return true
	}
	r := c.begin(call, f)
	r.queue, q.fid = q, f
	if w := f.writes.lastIn(); w != nil && q == &f.reads {
		r.after = w.end()
	}
	q.waiting = append(q.waiting, r)
	if !q.working {
		q.working = true
		c.queues.Add(1)
		go c.work(q)
	}
	return true
}

// enqueueLast is enqueue for the request that ends f: reads that block are
// cancelled for it, writes are waited for.
func (c *conn) enqueueLast(call proto.FCall, f *fid) bool {
	if !f.busy() {
		return false
	}
	f.last = c.begin(call, f)
	for _, r := range f.reads.waiting {
		r.cancel()
	}
	if r := f.reads.current; r != nil {
		r.cancel()
	}
	return true
}

// begin records a request in progress. mu is held.
func (c *conn) begin(call proto.FCall, f *fid) *request {
	r := &request{call: call, fid: f}
	r.ctx, r.cancel = context.WithCancel(c.ctx)
	c.requests[call.GetTag()] = r
	c.pending++
	return r
}

// work handles the requests of q until none is left. If that was the last thing
// in progress on a fid that is to end, it ends it.
func (c *conn) work(q *queue) {
	defer c.queues.Done()
	for {
		r, last := c.nextOf(q)
		if r == nil {
			return
		}
		if r.after != nil {
			<-r.after
		}
		c.out.wait(r.ctx)
		c.finish(r, c.session.handle(r.ctx, r.fid, r.call))
		if last {
			return
		}
	}
}

// nextOf is what is to be done next: the next request of q, or the one that
// ends its fid. If it is neither, or the latter, q's goroutine ends.
func (c *conn) nextOf(q *queue) (r *request, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q.current = nil
	if len(q.waiting) > 0 {
		q.current = q.waiting[0]
		q.waiting = q.waiting[1:]
		return q.current, false
	}
	q.working = false
	if f := q.fid; f.last != nil && !f.busy() {
		r, f.last = f.last, nil
	}
	return r, true
}

// finish sends the reply to r, unless it is not worth one, and then those to
// the flushes that waited for it.
func (c *conn) finish(r *request, reply proto.FCall) {
	r.cancel()
	defer c.out.wake()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.requests, r.call.GetTag())
	c.pending--
	r.over = true
	if r.ended != nil {
		close(r.ended)
	}
	_, failed := reply.(*proto.RError)
	if reply != nil && !(failed && r.quiet) {
		c.out.put(reply)
	}
	for _, tag := range r.flushes {
		delete(c.requests, tag)
		c.out.put(&proto.RFlush{Header: header(proto.Rflush, tag)})
	}
	if read, ok := reply.(*proto.RRead); ok && r.fid.dir == nil {
		c.session.release(read.Data)
	}
}

// flush cancels a request; the Rflush follows when it has ended.
func (c *conn) flush(t *proto.TFlush) {
	c.mu.Lock()
	r := c.requests[t.Oldtag]
	if r == nil || c.requests[t.Tag] != nil {
		c.mu.Unlock()
		c.out.put(&proto.RFlush{Header: header(proto.Rflush, t.Tag)})
		return
	}
	r.quiet = true
	r.flushes = append(r.flushes, t.Tag)
	c.requests[t.Tag] = r
	unstarted := r.queue != nil && r.queue.withdraw(r)
	c.mu.Unlock()
	r.cancel()
	if unstarted {
		c.finish(r, nil)
	}
}

// reset ends the session, so that another can begin.
func (c *conn) reset() {
	c.mu.Lock()
	for _, r := range c.requests {
		r.quiet = true
	}
	c.mu.Unlock()
	c.cancel()
	c.queues.Wait()
	c.session.clunkAll(context.WithoutCancel(c.base))
	c.ctx, c.cancel = context.WithCancel(c.base)
}

// end is reset without a next session.
func (c *conn) end() {
	c.reset()
	c.cancel()
}
