package fs_test

import (
	"context"
	"fmt"
	"time"

	"mikan/fs"
)

// A tree with a lamp: a ctl that switches it and a value that says how it is.
func Example() {
	state := "off"
	root := &fs.Dir{Children: map[string]fs.Node{
		"ctl": &fs.Ctl{Run: func(_ context.Context, _ *fs.Identity, line string) error {
			if line != "on" && line != "off" {
				return fs.Errorf(fs.Invalid, "unknown verb %q; try on, off", line)
			}
			state = line
			return nil
		}},
		"status": &fs.Value{Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return []byte("lamp " + state + "\n"), time.Time{}, nil
		}},
	}}
	tree := fs.NewTree(root, 1000, 1000)
	root.Add("errstr", tree.Errstr())

	ctx := context.Background()
	c, _ := tree.Client(ctx, &fs.Identity{UID: 1000})
	defer c.Close()

	fmt.Println(c.WriteFile(ctx, "ctl", []byte("on\n")))
	status, _ := c.ReadFile(ctx, "status")
	fmt.Printf("%s", status)
	err := c.WriteFile(ctx, "ctl", []byte("dim\n"))
	fmt.Println(err)
	fmt.Println(fs.KindOf(err).Errno())
	// Output:
	// <nil>
	// lamp on
	// write ctl: unknown verb "dim"; try on, off
	// invalid argument
}
