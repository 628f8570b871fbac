package tree

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

// Daemon is what the root of the tree needs of the program that serves it.
type Daemon struct {
	Version string
	Log     fs.Source     // the daemon's own log
	Status  func() []byte // more lines for the root's status: mount, socket
	// Shutdown begins the daemon's end and returns at once.
	Shutdown func()
	// Debug makes the log say more, or no more than usual.
	Debug func(on bool)
}

// builder makes the nodes of a tree.
type builder struct {
	rt      *runtime.Runtime
	d       Daemon
	offices kept[runtime.Address]
	tools   kept[*runtime.AddedTool]
}

// New lays out the tree of a runtime.
func New(rt *runtime.Runtime, d Daemon) *fs.Tree {
	b := &builder{rt: rt, d: d}
	root := &fs.Dir{Scratch: true}
	t := fs.NewTree(root, uint32(os.Getuid()), uint32(os.Getgid()))
	fill(root, wire.PlaceRoot, map[string]fs.Node{
		"ctl":           &fs.Ctl{State: b.status, Run: b.command},
		"errstr":        t.Errstr(),
		"status":        &fs.Value{Get: b.status},
		"feed":          rt.Feed(),
		"log":           &fs.Log{Source: d.Log},
		"settings.json": &fs.Value{Get: b.settings, Set: b.setSettings},
		"models": &fs.Value{Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return rt.ModelList(), time.Time{}, nil
		}},
		"shared":    newShared(rt.Workspace()),
		"platforms": b.platformsDir(),
		"offices":   b.officesDir(),
	})
	return t
}

// fill gives a directory its README and its files. Every file that the table
// has by name must be there, and no other.
func fill(d *fs.Dir, p wire.Place, nodes map[string]fs.Node) {
	nodes[wire.ReadmeName] = readmes()[p]
	for _, f := range wire.FilesAt(p) {
		if n, ok := nodes[f.Name]; ok {
			d.Add(f.Name, n)
			delete(nodes, f.Name)
		} else if f.Name[0] != '<' {
			panic(fmt.Sprintf("tree: no node for %s/%s", p, f.Name))
		}
	}
	for name := range nodes {
		panic(fmt.Sprintf("tree: the table lacks %s/%s", p, name))
	}
}

// readmes are the README files, the same in every directory of a sort.
var readmes = sync.OnceValue(func() map[wire.Place]fs.Node {
	all := map[wire.Place]fs.Node{}
	for _, x := range wire.Places {
		all[x.Place] = text(wire.Readme(x.Place))
	}
	return all
})

// text is a file that never changes.
func text(s string) fs.Node {
	return &fs.Value{Mode: 0o444, Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
		return []byte(s), time.Time{}, nil
	}}
}

// actor is how records name a caller.
func actor(who *fs.Identity) runtime.Actor {
	return runtime.Actor{ID: runtime.Local + ":" + who.Name, Name: who.Name, Client: who}
}

func (b *builder) status(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	own, err := b.rt.Status()
	return slices.Concat([]byte("version "+b.d.Version+"\n"), own, b.d.Status()), time.Time{}, err
}

func (b *builder) settings(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	return b.rt.SettingsText()
}

func (b *builder) setSettings(_ context.Context, _ *fs.Identity, data []byte) error {
	return b.rt.SetSettings(data)
}

// command runs a line of the root's ctl file.
func (b *builder) command(_ context.Context, _ *fs.Identity, line string) error {
	l, err := wire.ParseLine(wire.AtRoot, line)
	if err != nil {
		return fs.Errorf(fs.Invalid, "%w", err)
	}
	switch l.Verb {
	case "reload":
		return b.rt.Reload()
	case "drain":
		b.rt.Drain()
	case "shutdown":
		b.d.Shutdown()
	case "debug":
		if l.Arg(0) != "on" && l.Arg(0) != "off" {
			return fs.Errorf(fs.Invalid, "usage: debug on|off")
		}
		b.d.Debug(l.Arg(0) == "on")
	}
	return nil
}
