package tree

import (
	"context"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// tasksDir is tasks/ of an office.
func tasksDir(c *runtime.Conversation) fs.Node {
	d := &fs.Dir{
		List: c.TaskNames,
		Dynamic: func(ctx context.Context, id string) (fs.Node, error) {
			s, err := c.Task(ctx, id)
			if err != nil {
				return nil, err
			}
			return sessionDir(s), nil
		},
		Make: func(context.Context, *fs.Identity, string) (fs.Node, error) {
			return nil, fs.Errorf(fs.Fixed, "the agent starts tasks; prompt it for one, or make a session with mkdir sessions/<name>")
		},
		Unmake: func(ctx context.Context, _ *fs.Identity, id string) error {
			s, err := c.Task(ctx, id)
			if err != nil {
				return err
			}
			return s.Archive(ctx)
		},
	}
	fill(d, wire.PlaceTasks, map[string]fs.Node{})
	return d
}
