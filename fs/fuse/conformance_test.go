package fuse_test

import (
	"os"
	"testing"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/fuse"
)

const modelVar = "MIKAN_FUSE_TEST_MODEL"

func mountDoors(dir string) fstest.Doors { return fstest.Doors{Owner: fstest.Mount(dir)} }

// The cases about another user are in TestNobodyMayWhatTheModeBitsSay: a
// process has one identity.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range fstest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			tree := fstest.NewTree(t.TempDir(), uint32(os.Getuid()), uint32(os.Getgid()))
			dir := mounted(t, tree, fuse.Options{})
			if out, err := child(t.Context(), "case", c.Name, dir).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

// TestModel does random sequences of operations on a mount of a tree, and of a
// connection to one, in a child.
func TestModel(t *testing.T) {
	t.Parallel()
	for name, front := range map[string]func(*testing.T, *fs.Tree) fs.Attacher{
		"in process": func(_ *testing.T, tree *fs.Tree) fs.Attacher { return tree },
		"9p":         func(t *testing.T, tree *fs.Tree) fs.Attacher { return overNinep(t, tree) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.NewTree(t.TempDir(), uint32(os.Getuid()), uint32(os.Getgid()))
			cmd := child(t.Context(), "", "-test.run=^TestModelChild$", "-test.v", "-rapid.checks=40", "-rapid.nofailfile")
			cmd.Env = append(cmd.Env, modelVar+"="+mounted(t, front(t, tree), fuse.Options{}))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

func TestModelChild(t *testing.T) {
	dir := os.Getenv(modelVar)
	if dir == "" {
		t.Skip("a part of TestModel")
	}
	fstest.CheckModel(t, fstest.Mount(dir))
}
