package ninep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// flushTimeout is how long a server may take to answer a Tflush. One that takes
// longer is not there any more.
const flushTimeout = 10 * time.Second

// Conn is a client's connection to a 9P2000 server: an [fs.Attacher] whose fids
// stand on the other side. Any number of goroutines may use it. Once the
// connection is lost, whatever is in progress and whatever comes after fails
// with the kind IO. The server is not trusted: one that does not keep to the
// protocol loses the connection.
type Conn struct {
	in    *frameReader
	out   *output
	msize uint32
	names names
	ended sync.WaitGroup // the two goroutines
	done  chan struct{}

	mu    sync.Mutex
	err   error // why the connection ended
	calls map[uint16]*call
	tags  numbers
	fids  numbers
}

var _ fs.Attacher = (*Conn)(nil)

// Connect agrees on a version with the server behind nc: "9P2000" as a rule, or
// with a suffix, for errors as the Linux kernel's client gets them. It owns nc
// from then on, and has closed it if it fails.
func Connect(ctx context.Context, nc net.Conn, version string) (*Conn, error) {
	c := &Conn{
		in:    newFrameReader(nc),
		out:   newOutput(nc, defaultTimeout),
		done:  make(chan struct{}),
		calls: make(map[uint16]*call),
		tags:  numbers{end: noTag},
		fids:  numbers{end: noFid},
	}
	if err := c.agree(ctx, nc, version); err != nil {
		nc.Close()
		return nil, &fs.Error{Op: "connect", Kind: fs.KindOf(err), Err: err}
	}
	c.ended.Go(func() { c.lose(c.out.run()) })
	c.ended.Go(c.receive)
	return c, nil
}

// agree is the exchange of versions, before which there is nothing else.
func (c *Conn) agree(ctx context.Context, nc net.Conn, version string) error {
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	hello := &proto.TRVersion{
		Header: header(proto.Tversion, noTag), Msize: maxMsize, Version: version,
	}
	if _, err := nc.Write(hello.Compose()); err != nil {
		return firstErr(ctx.Err(), err)
	}
	reply, err := c.next()
	if err != nil {
		return firstErr(ctx.Err(), err)
	}
	if !stop() {
		return ctx.Err()
	}
	switch r := reply.(type) {
	case *proto.RError:
		return parseEname(r.Ename)
	case *proto.TRVersion:
		if r.Version != "9P2000" {
			return fs.Errorf(fs.NotSupported, "the server does not speak 9P2000: it answered %.32q", r.Version)
		}
		if r.Msize > maxMsize || r.Msize < minMsize {
			return fmt.Errorf("the server's msize %d is out of range", r.Msize)
		}
		c.msize, c.in.max = r.Msize, r.Msize
		return nil
	}
	return fmt.Errorf("the server answered the version with %T", reply)
}

func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close hangs up, and returns when nothing of the connection is left. Its fids
// are lost; the server clunks them.
func (c *Conn) Close() error {
	c.lose(net.ErrClosed)
	c.out.close()
	c.ended.Wait()
	return nil
}

// lose ends the connection because of err, nil if the peer has ended it.
func (c *Conn) lose(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the address, which may be one nobody knows it by
	}
	c.err = fs.Errorf(fs.IO, "the connection to the server is lost: %w", err)
	for _, p := range c.calls {
		close(p.done)
	}
	clear(c.calls)
	close(c.done)
	c.out.abort()
}

// receive hands each reply to the call that waits for it.
func (c *Conn) receive() {
	for {
		frame, err := c.nextFrame()
		if err == nil {
			err = c.deliver(frame)
		}
		if err != nil {
			c.lose(err)
			return
		}
	}
}

func (c *Conn) nextFrame() ([]byte, error) {
	frame, err := c.in.next()
	if err != nil {
		return nil, err
	}
	if err := checkFrame(frame); err != nil {
		return nil, err
	}
	return frame, nil
}

func (c *Conn) next() (proto.FCall, error) {
	frame, err := c.nextFrame()
	if err != nil {
		return nil, err
	}
	return c.in.decode(frame)
}

func (c *Conn) deliver(frame []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.calls[frameTag(frame)]
	if p == nil {
		return errors.New("the server answered what it was not asked")
	}
	if kind := frame[4]; kind != p.want && kind != proto.Rerror {
		return fmt.Errorf("the server answered with message type %d where %d was due", kind, p.want)
	}
	reply, err := p.decode(c.in, frame)
	if err != nil {
		return err
	}
	p.reply = reply
	c.end(p)
	return nil
}

// end closes the books on p, which has its reply. mu is held.
func (c *Conn) end(p *call) {
	close(p.done)
	delete(c.calls, p.tag)
	if p.frees != noFid {
		c.fids.put(p.frees)
	}
	if !p.flushed {
		c.tags.put(uint32(p.tag))
	}
	if old := p.flushes; old != nil {
		// Only now is the flushed tag free; what waited for it has no reply.
		c.tags.put(uint32(old.tag))
		if c.calls[old.tag] == old {
			delete(c.calls, old.tag)
			close(old.done)
		}
	}
}
