package ninep

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/knusbaum/go9p/proto"
)

// The bounds of what waits to be written.
const (
	outputRoom   = 1 << 20         // above it, those who can wait do
	outputLimit  = 8 << 20         // above it, the peer is hung up on
	outputKeep   = 256 << 10       // an empty buffer that is larger is let go
	outputLinger = 2 * time.Second // for the last replies
)

var errNotReading = errors.New("the peer does not read what it is sent")

// output is the one way out of a connection: messages are appended to a buffer.
// Who wakes it writes what the connection takes at once; the rest is for one
// goroutine, run, so that nobody else waits for the peer.
type output struct {
	conn    net.Conn
	raw     syscall.RawConn // of conn, if it has one
	timeout time.Duration   // for the peer to take one buffer

	mu      sync.Mutex
	changed *sync.Cond // wakes run and wait
	buf     []byte     // appended and not yet taken
	spare   []byte     // the buffer that was written last, to be used again
	writing bool       // what was taken is being written
	closed  bool
	err     error // why nothing can be written any more
}

func newOutput(conn net.Conn, timeout time.Duration) *output {
	o := &output{conn: conn, timeout: timeout}
	o.changed = sync.NewCond(&o.mu)
	if sc, ok := conn.(syscall.Conn); ok {
		o.raw, _ = sc.SyscallConn()
	}
	return o
}

// put appends a message and leaves it there until the next wake, so that the
// replies to messages that arrived together leave together. If the peer has let
// too much pile up, the connection is closed instead.
func (o *output) put(msg proto.FCall) {
	var frame []byte
	data, isData := msg.(*proto.RRead)
	if !isData {
		frame = msg.Compose()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	if isData {
		o.buf = appendRead(o.buf, data)
	} else {
		o.buf = append(o.buf, frame...)
	}
	if len(o.buf) > outputLimit {
		o.fail(errNotReading)
	}
}

// appendRead is Compose for the one message that is often long, without a copy
// in between.
func appendRead(b []byte, r *proto.RRead) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(frameHeader+4+len(r.Data)))
	b = append(b, r.Type)
	b = binary.LittleEndian.AppendUint16(b, r.Tag)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(r.Data)))
	return append(b, r.Data...)
}

// wake sends off what was put.
func (o *output) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.raw == nil || o.writing || len(o.buf) == 0 {
		o.changed.Broadcast()
		return
	}
	taken := o.takeLocked()
	o.mu.Unlock()
	n := o.tryWrite(taken)
	o.mu.Lock()
	if n < len(taken) && o.err == nil {
		o.buf = append(taken[n:], o.buf...)
		taken = nil // it is in use again
	}
	o.written(taken)
}

// tryWrite writes what the connection takes without waiting. An error is not
// its business: run meets it again.
func (o *output) tryWrite(b []byte) int {
	n := 0
	o.raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), b)
		return true
	})
	return max(n, 0)
}

// wait returns when there is room for one more message, when there never will
// be, or when ctx is done.
func (o *output) wait(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.hasRoom() {
		return
	}
	stop := context.AfterFunc(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.changed.Broadcast()
	})
	defer stop()
	for !o.hasRoom() && ctx.Err() == nil {
		o.changed.Wait()
	}
}

func (o *output) hasRoom() bool { return len(o.buf) < outputRoom || o.err != nil }

// run writes until close, and until everything put before it is written, or
// until the connection fails. Then it closes the connection for good.
func (o *output) run() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.await() {
		taken := o.takeLocked()
		o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		o.mu.Unlock()
		_, err := o.conn.Write(taken)
		o.mu.Lock()
		if err != nil {
			o.fail(err)
		}
		o.written(taken)
	}
	o.conn.Close()
	return o.err
}

// await waits for something to write. It reports false at the end. mu is held.
func (o *output) await() bool {
	for o.err == nil && (o.writing || len(o.buf) == 0) {
		if o.closed && !o.writing {
			return false
		}
		o.changed.Wait()
	}
	return o.err == nil
}

// takeLocked begins a write of what was put. mu is held.
func (o *output) takeLocked() []byte {
	taken := o.buf
	o.buf, o.spare = o.spare[:0], nil
	o.writing = true
	return taken
}

// written ends a write. mu is held.
func (o *output) written(taken []byte) {
	o.writing = false
	if cap(taken) <= outputKeep {
		o.spare = taken
	}
	o.changed.Broadcast()
}

// fail ends the connection; the reader of it notices. mu is held.
func (o *output) fail(err error) {
	if o.err != nil {
		return
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errNotReading
	}
	o.err = err
	o.buf = nil
	o.changed.Broadcast()
	o.conn.Close()
}

// close lets run end after what was put so far, for which the peer now has
// little time.
func (o *output) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.timeout = min(o.timeout, outputLinger)
	o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
	o.changed.Broadcast()
}

// abort lets run end at once.
func (o *output) abort() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(net.ErrClosed)
}
