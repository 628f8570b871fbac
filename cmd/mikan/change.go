package main

import (
	"context"
	"errors"
	"path"
	"strings"

	"mikan/fs"
)

type mkdirCmd struct {
	socketFlags
	Parents bool     `short:"p" help:"It is no error if the directory is there."`
	Paths   []string `arg:"" help:"Directories of the tree: an office, a session."`
}

// Run makes directories.
func (c *mkdirCmd) Run(ctx context.Context) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, p := range c.Paths {
		err := client.Mkdir(ctx, strings.Trim(path.Clean(p), "/"), 0o750)
		if err != nil && !(c.Parents && errors.Is(err, fs.Exist)) {
			return err
		}
	}
	return nil
}

type rmCmd struct {
	socketFlags
	Paths []string `arg:"" help:"Files or directories of the tree."`
}

// Run removes files; of an office or a session, it archives it.
func (c *rmCmd) Run(ctx context.Context) error {
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, p := range c.Paths {
		if err := client.Remove(ctx, strings.Trim(path.Clean(p), "/")); err != nil {
			return err
		}
	}
	return nil
}
