package ninep

import (
	"context"
	"net"

	"mikan/fs"
)

// Dial returns a client of the server that listens on the Unix socket at path.
// Its Close hangs up.
func Dial(ctx context.Context, path string) (*fs.Client, error) {
	nc, err := DialUnix(ctx, path)
	if err != nil {
		return nil, err
	}
	return NewClient(ctx, nc)
}

// NewClient returns a client of the server behind nc, an inherited descriptor
// for example. It owns nc: its Close hangs up, and a failure has done so.
func NewClient(ctx context.Context, nc net.Conn) (*fs.Client, error) {
	c, err := Connect(ctx, nc, "9P2000")
	if err != nil {
		return nil, err
	}
	root, err := c.Attach(ctx, nil)
	if err != nil {
		c.Close()
		return nil, err
	}
	return fs.NewClient(onlyRoot{root.(*remote)}), nil
}

// onlyRoot is the root of a connection that nobody else uses: it ends with it.
type onlyRoot struct{ *remote }

func (r onlyRoot) Clunk(ctx context.Context) error {
	err := r.remote.Clunk(ctx)
	r.c.Close()
	return err
}
