package ninep

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/knusbaum/go9p/proto"
)

const (
	defaultConns = 256         // connections of a user
	maxTold      = 16          // connections beyond, at one time, that are told why
	tellTime     = time.Second // how long that may take
)

// crowd counts the connections of each user: what is bounded for a connection is
// not for who can have any number of them.
type crowd struct {
	mu    sync.Mutex
	conns map[uint32]int // by uid
}

// enter counts one more, and returns how many there are with it.
func (c *crowd) enter(uid uint32) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns == nil {
		c.conns = make(map[uint32]int)
	}
	c.conns[uid]++
	return c.conns[uid]
}

func (c *crowd) leave(uid uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns[uid]--; c.conns[uid] == 0 {
		delete(c.conns, uid)
	}
}

// tell answers the first message of a connection with err, and nothing more.
func tell(ctx context.Context, nc net.Conn, err error) {
	nc.SetDeadline(time.Now().Add(tellTime))
	stop := context.AfterFunc(ctx, func() { nc.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	frame, readErr := newFrameReader(nc).next()
	if readErr != nil {
		return
	}
	reply := &proto.RError{
		Header: header(proto.Rerror, frameTag(frame)),
		Ename:  ename(err, false, minMsize-frameHeader-2),
	}
	_, _ = nc.Write(reply.Compose())
}
