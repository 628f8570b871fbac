package ninep_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mikan/fs"
	"mikan/fs/ninep"
)

// A tree of one file is served on a Unix socket, and read through it.
func Example() {
	greeting := &fs.Value{
		Mode: 0o444,
		Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return []byte("hello\n"), time.Time{}, nil
		},
	}
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"greeting": greeting}}
	tree := fs.NewTree(root, uint32(os.Getuid()), uint32(os.Getgid()))

	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	l, err := ninep.ListenUnix(filepath.Join(dir, "9p"), 0o600)
	if err != nil {
		panic(err)
	}
	ctx, hangUp := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- (&ninep.Server{Tree: tree}).Serve(ctx, l) }()

	client, err := ninep.Dial(ctx, filepath.Join(dir, "9p"))
	if err != nil {
		panic(err)
	}
	text, err := client.ReadFile(ctx, "greeting")
	fmt.Printf("%s%v\n", text, err)

	client.Close()
	hangUp()
	fmt.Println(<-served)
	// Output:
	// hello
	// <nil>
	// <nil>
}
