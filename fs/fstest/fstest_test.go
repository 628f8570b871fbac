package fstest_test

import (
	"os"
	"testing"

	"mikan/fs"
	"mikan/fs/fstest"
)

func TestMain(m *testing.M) { fstest.Main(m) }

func TestInProcess(t *testing.T) {
	fstest.Run(t, func(t *testing.T, tree *fs.Tree) fstest.Doors {
		door := func(who *fs.Identity) fstest.Door {
			c, err := tree.Client(t.Context(), who)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return fstest.Client{Client: c}
		}
		return fstest.Doors{
			Owner: door(&fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}),
			Other: door(&fs.Identity{Name: "other", UID: 54321, GID: 54321}),
		}
	})
}

func TestModel_in_process(t *testing.T) {
	tree := fstest.NewTree(t.TempDir(), uint32(os.Getuid()), uint32(os.Getgid()))
	c, err := tree.Client(t.Context(), &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fstest.CheckModel(t, fstest.Client{Client: c})
}
