package main

import (
	"context"
	"fmt"

	"mikan/fs/fuse"
	"mikan/fs/ninep"
)

type mountCmd struct {
	socketFlags
	Dir        string `arg:"" help:"Where to mount the tree." type:"path"`
	AllowOther bool   `help:"Let other users in. All act as you: the daemon knows you alone."`
}

// Run mounts the tree of a running daemon until it is interrupted, unmounted or
// the daemon ends.
func (c *mountCmd) Run(ctx context.Context, std *streams) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	nc, err := ninep.DialUnix(ctx, path)
	if err != nil {
		return noDaemon(path, err)
	}
	// The offer of a dialect is what makes the server answer with the exact
	// strings that errnos can be told from.
	conn, err := ninep.Connect(ctx, nc, "9P2000.L")
	if err != nil {
		return err
	}
	defer conn.Close()
	m, err := fuse.Mount(c.Dir, conn, fuse.Options{AllowOther: c.AllowOther})
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "mikan: %s is mounted on %s\n", path, c.Dir)
	select {
	case <-ctx.Done():
	case <-conn.Done():
	case <-m.Done():
	}
	return m.Close()
}
