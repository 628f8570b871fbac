package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"mikan/fs"
)

type lsCmd struct {
	socketFlags
	Long  bool     `short:"l" help:"With mode, size and time."`
	Paths []string `arg:"" optional:"" help:"Directories or files; the root without any."`
}

// Run lists.
func (c *lsCmd) Run(ctx context.Context, std *streams) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	if len(c.Paths) == 0 {
		c.Paths = []string{""}
	}
	for _, path := range c.Paths {
		info, err := client.Stat(ctx, path)
		if err != nil {
			return err
		}
		list := []fs.Info{info}
		if info.Mode.IsDir() {
			if list, err = client.ReadDir(ctx, path); err != nil {
				return err
			}
		}
		for _, i := range list {
			c.print(std.out, i)
		}
	}
	return nil
}

func (c *lsCmd) print(w io.Writer, i fs.Info) {
	name := i.Name
	if i.Mode.IsDir() && !strings.HasSuffix(name, "/") {
		name += "/"
	}
	if c.Long {
		fmt.Fprintf(w, "%v %9d %s ", i.Mode, i.Size, i.MTime.Local().Format("2006-01-02 15:04:05"))
	}
	fmt.Fprintln(w, name)
}

type catCmd struct {
	socketFlags
	Paths []string `arg:"" help:"Files of the tree."`
}

// Run prints.
func (c *catCmd) Run(ctx context.Context, std *streams) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, path := range c.Paths {
		f, err := client.Open(ctx, path, fs.Read)
		if err != nil {
			return err
		}
		if err := errors.Join(copyAll(ctx, std.out, f), f.Close()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// copyAll copies a file until its end. Each piece is written as it comes.
func copyAll(ctx context.Context, w io.Writer, f *fs.File) error {
	buf := make([]byte, 32<<10)
	for {
		n, err := f.ReadContext(ctx, buf)
		if _, werr := w.Write(buf[:n]); werr != nil {
			return werr
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

type writeCmd struct {
	socketFlags
	Path string   `arg:"" help:"A file of the tree."`
	Text []string `arg:"" optional:"" help:"What to write, with a newline; without it, standard input."`
}

// Run writes.
func (c *writeCmd) Run(ctx context.Context, std *streams) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	data, err := textOr(ctx, c.Text, std.in)
	if err != nil {
		return err
	}
	err = client.WriteFile(ctx, c.Path, data)
	if errors.Is(err, fs.NotExist) {
		if made := create(ctx, client, c.Path, data); !errors.Is(made, fs.NotExist) {
			return made
		}
	}
	return err
}

// create makes a file, where files can be made.
func create(ctx context.Context, client *fs.Client, name string, data []byte) error {
	f, err := client.Create(ctx, name, 0o640, fs.Write)
	if err != nil {
		return err
	}
	_, err = f.WriteContext(ctx, data)
	return errors.Join(err, f.Close())
}

// textOr is the words as a line, or what in has if there are none.
func textOr(ctx context.Context, words []string, in io.Reader) ([]byte, error) {
	if len(words) > 0 {
		return []byte(strings.Join(words, " ") + "\n"), nil
	}
	var data []byte
	var err error
	read := make(chan struct{})
	go func() { // ends with the program if in never does
		data, err = io.ReadAll(in)
		close(read)
	}()
	select {
	case <-read:
		return data, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type tailCmd struct {
	socketFlags
	Lines int    `short:"n" default:"10" help:"How many lines of what is there to print first."`
	Path  string `arg:"" help:"A log, a transcript or a feed of the tree."`
}

// tailEvery is how often a growing file is looked at.
const tailEvery = 200 * time.Millisecond

// Run follows: a feed until it ends, a growing file until the user is done.
func (c *tailCmd) Run(ctx context.Context, std *streams) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	f, err := client.Open(ctx, c.Path, fs.Read)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat(ctx)
	if err != nil {
		return err
	}
	if !info.Stream() {
		if err := c.follow(ctx, f, std.out); ctx.Err() == nil {
			return err
		}
		return nil
	}
	if err := copyAll(ctx, std.out, f); ctx.Err() == nil {
		return err
	}
	return nil
}

// follow prints the last lines of a file and then what is added.
func (c *tailCmd) follow(ctx context.Context, f *fs.File, w io.Writer) error {
	var last lastLines
	if err := copyAll(ctx, &last, f); err != nil {
		return err
	}
	if _, err := w.Write(last.tail(c.Lines)); err != nil {
		return err
	}
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	for {
		if err := copyAll(ctx, w, f); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// lastLines keeps the end of what is written to it.
type lastLines struct{ buf []byte }

// maxTail bounds what lastLines keeps, in bytes.
const maxTail = 1 << 20

func (l *lastLines) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	if over := len(l.buf) - maxTail; over > 0 {
		l.buf = append(l.buf[:0], l.buf[over:]...)
	}
	return len(p), nil
}

// tail is the last n lines.
func (l *lastLines) tail(n int) []byte {
	at := len(l.buf)
	for i := at - 1; i >= 0; i-- {
		if l.buf[i] == '\n' && i != len(l.buf)-1 {
			if n--; n == 0 {
				return l.buf[i+1:]
			}
		}
	}
	if n <= 0 {
		return nil
	}
	return l.buf
}
