package fuse_test

import (
	"context"
	"log"
	"os"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// A file whose content is the time of the mount, in /run/clock until somebody
// unmounts it.
func ExampleMount() {
	began := time.Now()
	root := &fs.Dir{Children: map[string]fs.Node{"began": &fs.Value{
		Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return []byte(began.Format(time.RFC3339) + "\n"), began, nil
		},
	}}}
	tree := fs.NewTree(root, uint32(os.Getuid()), uint32(os.Getgid()))
	srv, err := fuse.Mount("/run/clock", tree, fuse.Options{Name: "clock"})
	if err != nil {
		log.Fatal(err)
	}
	srv.Wait()
}
