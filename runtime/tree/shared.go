package tree

import (
	"context"
	"os"
	"slices"

	"mikan/fs"
	"mikan/runtime"
)

// shared is shared/: of the workspace's root, in which the offices lie too, what
// all offices share, and nothing else.
type shared struct {
	*fs.HostDir
}

// sharedNames are what the workspace's root holds besides offices.
var sharedNames = []string{"MEMORY.md", "agents", "skills"}

func newShared(w *runtime.Workspace) shared { return shared{fs.NewHostDir(w.Root)} }

// Stat is that of a directory of ours: the root of the workspace may not be
// there yet.
func (s shared) Stat(context.Context) (fs.Info, error) {
	return fs.Info{Mode: 0o750 | os.ModeDir}, nil
}

// Lookup finds one of the shared names.
func (s shared) Lookup(ctx context.Context, name string) (fs.Node, error) {
	if !slices.Contains(sharedNames, name) {
		return nil, fs.NotExist
	}
	return s.HostDir.Lookup(ctx, name)
}

// Names lists the shared names that are there.
func (s shared) Names(ctx context.Context) ([]string, error) {
	var names []string
	for _, name := range sharedNames {
		if _, err := s.Lookup(ctx, name); err == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// Create makes one of the shared names.
func (s shared) Create(ctx context.Context, who *fs.Identity, name string, perm os.FileMode) (fs.Node, error) {
	if err := only(name); err != nil {
		return nil, err
	}
	return s.HostDir.Create(ctx, who, name, perm)
}

// Remove removes one of the shared names.
func (s shared) Remove(ctx context.Context, who *fs.Identity, name string) error {
	if err := only(name); err != nil {
		return err
	}
	return s.HostDir.Remove(ctx, who, name)
}

// Rename gives one of the shared names to another file.
func (s shared) Rename(ctx context.Context, who *fs.Identity, name string, dir fs.Directory, newname string) error {
	if to, ok := dir.(shared); ok {
		dir = to.HostDir
		if err := only(newname); err != nil {
			return err
		}
	}
	if err := only(name); err != nil {
		return err
	}
	return s.HostDir.Rename(ctx, who, name, dir, newname)
}

func only(name string) error {
	if slices.Contains(sharedNames, name) {
		return nil
	}
	return fs.Errorf(fs.Fixed, "shared holds MEMORY.md, agents and skills, and nothing else")
}
