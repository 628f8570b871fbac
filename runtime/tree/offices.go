package tree

import (
	"cmp"
	"context"
	"slices"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// officesDir is offices/: a directory for each platform.
func (b *builder) officesDir() fs.Node {
	d := &fs.Dir{
		List: func(context.Context) ([]string, error) { return b.rt.Platforms() },
		Dynamic: func(_ context.Context, name string) (fs.Node, error) {
			list, err := b.rt.Platforms()
			if err != nil {
				return nil, err
			}
			if !slices.Contains(list, name) {
				return nil, fs.NotExist
			}
			return b.platformDir(name), nil
		},
	}
	fill(d, wire.PlaceOffices, map[string]fs.Node{})
	return d
}

// platformDir is offices/<platform>.
func (b *builder) platformDir(platform string) fs.Node {
	d := &fs.Dir{
		List: func(context.Context) ([]string, error) {
			list, err := b.rt.Addresses()
			var names []string
			for _, a := range list {
				if a.Platform == platform && !b.rt.Lost(a) {
					names = append(names, wire.EscapeName(a.ConversationID))
				}
			}
			return names, err
		},
		Dynamic: func(_ context.Context, name string) (fs.Node, error) {
			a, err := address(platform, name)
			if err != nil {
				return nil, fs.NotExist
			}
			if has, err := b.rt.Has(a); err != nil || !has || b.rt.Lost(a) {
				return nil, cmp.Or(err, error(fs.NotExist))
			}
			return lazy{b, a}, nil
		},
		Make: func(ctx context.Context, _ *fs.Identity, name string) (fs.Node, error) {
			a, err := address(platform, name)
			if err != nil {
				return nil, err
			}
			if platform != runtime.Local {
				return nil, fs.Errorf(fs.Fixed, "an office of %s appears with its first message; mkdir makes offices on the platform %s", platform, runtime.Local)
			}
			if _, err := b.rt.Create(ctx, a); err != nil {
				return nil, err
			}
			return lazy{b, a}, nil
		},
		Unmake: func(ctx context.Context, _ *fs.Identity, name string) error {
			c, err := b.find(platform, name)
			if err != nil {
				return err
			}
			return c.Archive(ctx)
		},
	}
	fill(d, wire.PlacePlatform, map[string]fs.Node{})
	return d
}

func (b *builder) find(platform, name string) (*runtime.Conversation, error) {
	a, err := address(platform, name)
	if err != nil {
		return nil, fs.NotExist
	}
	return b.rt.Conversation(a)
}

// address is the conversation that a name in the path stands for.
func address(platform, name string) (runtime.Address, error) {
	id, ok := wire.UnescapeName(name)
	switch {
	case len(name) > 255:
		return runtime.Address{}, fs.Errorf(fs.NameTooLong, "an office's name has at most 255 bytes")
	case !ok && id == "":
		return runtime.Address{}, fs.Errorf(fs.Invalid, "office %q: a percent sign is written %%25", name)
	case !ok:
		return runtime.Address{}, fs.Errorf(fs.Invalid, "office %q: write %q", name, wire.EscapeName(id))
	}
	a, err := runtime.NewAddress(platform, id)
	if err != nil {
		err = fs.Errorf(fs.Invalid, "%w", err)
	}
	return a, err
}

// officeDir is offices/<platform>/<conversation>.
func (b *builder) officeDir(c *runtime.Conversation) *fs.Dir {
	return b.offices.dir(c.Address, func() *fs.Dir {
		d := &fs.Dir{Scratch: true}
		fill(d, wire.PlaceOffice, map[string]fs.Node{
			"ctl": &fs.Ctl{
				State: func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) { return c.Status(ctx) },
				Run: func(ctx context.Context, who *fs.Identity, line string) error {
					return c.Command(ctx, actor(who), line)
				},
			},
			"status": &fs.Value{Get: func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) { return c.Status(ctx) }},
			"usage": &fs.Value{Get: func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) {
				data, err := c.Usage(ctx)
				return data, c.Changed(), err
			}},
			"key": &fs.Value{Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
				return []byte(string(c.Key) + "\n"), time.Time{}, nil
			}},
			"ask": &fs.Ask{Commit: b.mainAsk(c)},
			"chat": &fs.Ask{Commit: func(ctx context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
				answer, err := c.Chat(ctx, actor(who), body)
				return answer, 0, err
			}},
			"wait": &fs.Waiter{Wait: func(ctx context.Context, who *fs.Identity) error {
				if err := c.Free(who); err != nil {
					return err
				}
				return c.Wait(ctx)
			}},
			"log":  &fs.Log{Source: source{c.LogSize, c.ReadLog}},
			"feed": c.Feed(),
			"settings.json": &fs.Value{
				Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) { return c.SettingsText() },
				Set: func(ctx context.Context, _ *fs.Identity, data []byte) error { return c.SetSettings(ctx, data) },
			},
			"hooks":    hooksDir(c),
			"tools":    b.toolsDir(c.Tools(), wire.PlaceTools, wire.PlaceTool),
			"sessions": b.sessionsDir(c),
			"tasks":    tasksDir(c),
			"files":    fs.NewHostDir(c.Dir),
		})
		return d
	})
}

// source makes an fs.Source of two functions.
type source struct {
	size func(context.Context) (int64, time.Time, error)
	read func(context.Context, []byte, int64) (int, error)
}

func (s source) Size(ctx context.Context) (int64, time.Time, error) { return s.size(ctx) }

func (s source) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	return s.read(ctx, p, off)
}
