package ninep_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/ninep"
)

// TestSuite_over_a_Unix_socket runs the conformance suite as the user whom the
// kernel names.
func TestSuite_over_a_Unix_socket(t *testing.T) {
	fstest.Run(t, func(t *testing.T, tree *fs.Tree) fstest.Doors {
		path := filepath.Join(t.TempDir(), "9p")
		l, err := ninep.ListenUnix(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error)
		go func() { served <- (&ninep.Server{Tree: tree, Log: quiet}).Serve(ctx, l) }()
		c, err := ninep.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			c.Close()
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		})
		return fstest.Doors{Owner: fstest.Client{Client: c}}
	})
}

// TestSuite_over_inherited_descriptors runs it for two users, whom the giver of
// the connections names.
func TestSuite_over_inherited_descriptors(t *testing.T) {
	fstest.Run(t, func(t *testing.T, tree *fs.Tree) fstest.Doors {
		door := func(who *fs.Identity) fstest.Door {
			nc, _ := serve(t, tree, who)
			c, err := ninep.NewClient(t.Context(), nc)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			return fstest.Client{Client: c}
		}
		return fstest.Doors{
			Owner: door(&fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}),
			Other: door(other),
		}
	})
}

// TestModel_over_a_socket does random sequences of operations.
func TestModel_over_a_socket(t *testing.T) {
	who := &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	nc, _ := serve(t, fstest.NewTree(t.TempDir(), who.UID, who.GID), who)
	c, err := ninep.NewClient(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fstest.CheckModel(t, fstest.Client{Client: c})
}
