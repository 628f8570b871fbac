package ninep

import (
	"context"
	"time"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// call is a request that waits for its reply.
type call struct {
	tag   uint16
	want  uint8         // the type of the reply
	frees uint32        // the fid that is free after the reply; noFid: none
	done  chan struct{} // closed when there is a reply, or will be none

	// Guarded by the mutex of the Conn until done is closed.
	reply   proto.FCall // nil: flushed, or the connection is lost
	into    []byte      // where the data of an Rread goes; nil: it is dropped
	flushed bool        // a Tflush is on its way
	flushes *call       // of a Tflush: the call that it is to end
}

// decode makes the reply of a frame. The data of a read goes straight to where
// it is wanted.
func (p *call) decode(in *frameReader, frame []byte) (proto.FCall, error) {
	if frame[4] != proto.Rread {
		return in.decode(frame)
	}
	data := frame[frameHeader+4:]
	if p.into != nil && len(data) > len(p.into) {
		return nil, fs.Errorf(fs.IO, "the server gave more than was asked for")
	}
	return &proto.RRead{Count: uint32(copy(p.into, data))}, nil
}

// message makes a request once its tag is known.
type message func(tag uint16) proto.FCall

// start sends a request.
func (c *Conn) start(m message, want uint8, frees uint32, into []byte) (*call, error) {
	defer c.out.wake()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	tag, ok := c.tags.get()
	if !ok {
		return nil, fs.Errorf(fs.Again, "too many requests are in progress on this connection")
	}
	p := &call{
		tag: uint16(tag), want: want, frees: frees, into: into,
		done: make(chan struct{}),
	}
	c.calls[p.tag] = p
	c.out.put(m(p.tag))
	return p, nil
}

// rpc sends a request and waits for the reply. If ctx is done before, the
// request is flushed; if it was answered all the same, so is rpc.
func (c *Conn) rpc(ctx context.Context, want uint8, into []byte, m message) (proto.FCall, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.out.wait(ctx)
	p, err := c.start(m, want, noFid, into)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		c.flush(p)
	}
	return c.result(ctx, p)
}

// rpcEnd is rpc for the request that ends fid. It is not flushed: if ctx is done
// before the reply is there, the number is kept until it is.
func (c *Conn) rpcEnd(ctx context.Context, want uint8, fid uint32, m message) error {
	p, err := c.start(m, want, fid, nil)
	if err != nil {
		return err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err = c.result(ctx, p)
	return err
}

// result is what came of p, which has ended.
func (c *Conn) result(ctx context.Context, p *call) (proto.FCall, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch r := p.reply.(type) {
	case *proto.RError:
		return nil, parseEname(r.Ename)
	case nil:
		if c.err != nil {
			return nil, c.err
		}
		return nil, ctx.Err()
	}
	return p.reply, nil
}

// flush ends p: it returns when p has its reply or the server has said that
// there will be none.
func (c *Conn) flush(p *call) {
	f := c.startFlush(p)
	if f == nil {
		<-p.done
		return
	}
	late := time.NewTimer(flushTimeout)
	defer late.Stop()
	select {
	case <-p.done:
	case <-f.done:
	case <-late.C:
		c.lose(fs.Errorf(fs.Timeout, "a cancelled request was not given up in %v", flushTimeout))
	}
}

// startFlush sends the Tflush for p, unless p has ended or no tag is left.
func (c *Conn) startFlush(p *call) *call {
	defer c.out.wake()
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-p.done:
		return nil
	default:
	}
	tag, ok := c.tags.get()
	if !ok {
		return nil
	}
	f := &call{
		tag: uint16(tag), want: proto.Rflush, frees: noFid, flushes: p,
		done: make(chan struct{}),
	}
	c.calls[f.tag] = f
	p.flushed = true
	c.out.put(&proto.TFlush{Header: header(proto.Tflush, f.tag), Oldtag: p.tag})
	return f
}

// numbers gives out numbers below end and takes them back.
type numbers struct {
	free []uint32
	next uint32
	end  uint32
}

func (n *numbers) get() (uint32, bool) {
	if last := len(n.free) - 1; last >= 0 {
		num := n.free[last]
		n.free = n.free[:last]
		return num, true
	}
	if n.next == n.end {
		return 0, false
	}
	n.next++
	return n.next - 1, true
}

func (n *numbers) put(num uint32) { n.free = append(n.free, num) }
