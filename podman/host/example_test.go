package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mikan/podman/host"
	"mikan/wire"
)

// A trusted office writes a file, and a command of it reads that.
func Example() {
	dir, err := os.MkdirTemp("", "office")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o750); err != nil {
		fmt.Println(err)
		return
	}
	c, err := host.New(host.Config{Files: files, Home: filepath.Join(dir, "home"), Confine: host.None})
	if err != nil {
		fmt.Println(err)
		return
	}

	ctx := context.Background()
	f, err := c.Create(ctx, "notes/today.md")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Fprintln(f, "buy mikan")
	if err := f.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	exit, err := c.Run(ctx, wire.Command{Script: "cat notes/today.md; exit 3", Stdout: os.Stdout})
	fmt.Println(exit.Code, err)
	// Output:
	// buy mikan
	// 3 <nil>
}
