package ninep

import (
	"context"
	"slices"

	"github.com/knusbaum/go9p/proto"
)

// request is one that does not end at once: it stands in a queue, or is being
// done by the queue's goroutine.
type request struct {
	call   proto.FCall
	fid    *fid
	queue  *queue
	ctx    context.Context
	cancel context.CancelFunc

	// after is closed when the write has ended that a read came behind: what was
	// written first is what the read is about. Nil: there was none.
	after <-chan struct{}

	// Guarded by the mutex of the conn.
	over    bool
	ended   chan struct{} // closed at the end, if a read waits for that
	flushes []uint16      // the tags of the Tflushes that wait for it
	quiet   bool          // flushed or given up: an error is not worth a reply
}

// end is closed when r has ended; nil if it has.
func (r *request) end() <-chan struct{} {
	if r.over {
		return nil
	}
	if r.ended == nil {
		r.ended = make(chan struct{})
	}
	return r.ended
}

// queue is the requests of one sort for one fid, in the order of their arrival.
// While it is not empty a goroutine works on it. It is guarded by the mutex of
// the conn.
type queue struct {
	fid     *fid // of all of them; nil before the first
	working bool // there is the goroutine, also when all it came for is withdrawn
	waiting []*request
	current *request
}

// lastIn is the request that came last and has not ended; nil if there is none.
func (q *queue) lastIn() *request {
	if n := len(q.waiting); n > 0 {
		return q.waiting[n-1]
	}
	return q.current
}

func (q *queue) busy() bool { return q.current != nil || len(q.waiting) > 0 }

// withdraw takes r out, if nothing has been done for it yet.
func (q *queue) withdraw(r *request) bool {
	i := slices.Index(q.waiting, r)
	if i < 0 {
		return false
	}
	q.waiting = slices.Delete(q.waiting, i, i+1)
	return true
}

// queues is what is in progress for one fid.
type queues struct {
	reads, writes queue
	// last is the clunk or remove that ends the fid. It comes after everything
	// else, done by whoever finishes that.
	last *request
}

func (q *queues) busy() bool { return q.reads.busy() || q.writes.busy() }

// pick is the queue that a request must go through, nil if it can be answered
// at once. Behind a write that is still waiting, even a stat must wait, or it
// would overtake it.
func (q *queues) pick(call proto.FCall) *queue {
	switch call.(type) {
	case *proto.TRead:
		return &q.reads
	case *proto.TWrite:
		return &q.writes
	}
	if q.writes.busy() {
		return &q.writes
	}
	return nil
}
