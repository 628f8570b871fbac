package tree

import (
	"context"

	"mikan/fs"
	"mikan/runtime"
)

// lazy is an office's directory that is not made before someone looks into it:
// whoever lists ten thousand offices makes none of them.
type lazy struct {
	b *builder
	a runtime.Address
}

var (
	_ fs.Directory = lazy{}
	_ fs.Creator   = lazy{}
	_ fs.Remover   = lazy{}
	_ fs.Renamer   = lazy{}
)

// dir is the directory itself.
func (l lazy) dir() (*fs.Dir, error) {
	c, err := l.b.rt.Conversation(l.a)
	if err != nil {
		return nil, err
	}
	return l.b.officeDir(c), nil
}

// Stat describes the directory.
func (l lazy) Stat(context.Context) (fs.Info, error) {
	return fs.Info{Mode: 0o750 | fs.ModeDir}, nil
}

// Lookup finds a file of the office.
func (l lazy) Lookup(ctx context.Context, name string) (fs.Node, error) {
	d, err := l.dir()
	if err != nil {
		return nil, err
	}
	return d.Lookup(ctx, name)
}

// Names lists the files of the office.
func (l lazy) Names(ctx context.Context) ([]string, error) {
	d, err := l.dir()
	if err != nil {
		return nil, err
	}
	return d.Names(ctx)
}

// Create makes scratch.
func (l lazy) Create(ctx context.Context, who *fs.Identity, name string, perm fs.FileMode) (fs.Node, error) {
	d, err := l.dir()
	if err != nil {
		return nil, err
	}
	return d.Create(ctx, who, name, perm)
}

// Remove removes scratch.
func (l lazy) Remove(ctx context.Context, who *fs.Identity, name string) error {
	d, err := l.dir()
	if err != nil {
		return err
	}
	return d.Remove(ctx, who, name)
}

// Rename renames scratch, or puts it in the place of a value.
func (l lazy) Rename(ctx context.Context, who *fs.Identity, name string, to fs.Directory, newname string) error {
	d, err := l.dir()
	if err != nil {
		return err
	}
	if to == fs.Directory(l) {
		to = d
	}
	return d.Rename(ctx, who, name, to, newname)
}
