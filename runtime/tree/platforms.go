package tree

import (
	"context"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// platformsDir is platforms/: a desk for each platform.
func (b *builder) platformsDir() fs.Node {
	d := &fs.Dir{
		List: func(context.Context) ([]string, error) { return b.rt.DeskNames(), nil },
		Dynamic: func(_ context.Context, name string) (fs.Node, error) {
			d, err := b.rt.Desk(name)
			if err != nil {
				return nil, err
			}
			return b.deskDir(d), nil
		},
		Make: func(ctx context.Context, _ *fs.Identity, name string) (fs.Node, error) {
			d, err := b.rt.MakeDesk(ctx, name)
			if err != nil {
				return nil, err
			}
			return b.deskDir(d), nil
		},
		Unmake: func(ctx context.Context, _ *fs.Identity, name string) error {
			return b.rt.RemoveDesk(ctx, name)
		},
	}
	fill(d, wire.PlacePlatforms, map[string]fs.Node{})
	return d
}

// deskDir is platforms/<name>.
func (b *builder) deskDir(desk *runtime.Desk) fs.Node {
	d := &fs.Dir{}
	fill(d, wire.PlaceDesk, map[string]fs.Node{
		"in": &fs.Body{Commit: func(ctx context.Context, _ *fs.Identity, body []byte) error {
			return desk.Deliver(ctx, body)
		}},
		"out": desk.Out,
		"caps": &fs.Value{
			Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) { return desk.CapsText() },
			Set: func(ctx context.Context, _ *fs.Identity, data []byte) error { return desk.SetCaps(ctx, data) },
		},
		"status": &fs.Value{Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return desk.Status(), time.Time{}, nil
		}},
		"tools": b.toolsDir(desk.Tools(), wire.PlaceDeskTools, wire.PlaceDeskTool),
	})
	d.Add(fs.BodyDir, desk.Bodies)
	return d
}
