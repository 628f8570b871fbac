package tree

import (
	"context"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// toolsDir is tools/ of an office or of a desk, which stands at the place all;
// each of its tools stands at one.
func (b *builder) toolsDir(t *runtime.Tools, all, one wire.Place) fs.Node {
	d := &fs.Dir{
		List: func(context.Context) ([]string, error) { return t.Names() },
		Dynamic: func(_ context.Context, name string) (fs.Node, error) {
			tool, err := t.Find(name)
			if err != nil {
				return nil, err
			}
			return b.toolDir(tool, one), nil
		},
		Make: func(ctx context.Context, _ *fs.Identity, name string) (fs.Node, error) {
			tool, err := t.Make(ctx, name)
			if err != nil {
				return nil, err
			}
			return b.toolDir(tool, one), nil
		},
		Unmake: func(ctx context.Context, _ *fs.Identity, name string) error { return t.Remove(ctx, name) },
	}
	fill(d, all, map[string]fs.Node{})
	return d
}

// toolDir is tools/<tool>.
func (b *builder) toolDir(t *runtime.AddedTool, p wire.Place) fs.Node {
	return b.tools.dir(t, func() *fs.Dir {
		d := &fs.Dir{Scratch: true}
		fill(d, p, map[string]fs.Node{
			"schema": &fs.Value{
				Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
					text, at := t.SchemaText()
					return text, at, nil
				},
				Set: func(ctx context.Context, _ *fs.Identity, data []byte) error { return t.SetSchema(ctx, data) },
				Max: wire.MaxToolSchema,
			},
			"call": t.Call,
		})
		d.Add(fs.BodyDir, t.Bodies)
		return d
	})
}
