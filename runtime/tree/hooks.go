package tree

import (
	"context"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// hooksDir is hooks/ of an office.
func hooksDir(c *runtime.Conversation) fs.Node {
	h := c.Hooks()
	nodes := map[string]fs.Node{
		"ctl": &fs.Ctl{
			State: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
				data, err := h.Status()
				return data, time.Time{}, err
			},
			Run: func(ctx context.Context, _ *fs.Identity, line string) error { return h.Command(ctx, line) },
		},
	}
	for name, s := range h.Services {
		nodes[name] = s
	}
	d := &fs.Dir{}
	fill(d, wire.PlaceHooks, nodes)
	d.Add(fs.BodyDir, h.Bodies)
	return d
}
