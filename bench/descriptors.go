package main

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// descriptorRow is how many descriptors more the daemon has open after a thousand
// sessions were made, used and put away.
func descriptorRow(ctx context.Context, w *world) (err error) {
	h, err := w.home("descriptors", demoSettings, nil)
	if err != nil {
		return err
	}
	d, err := w.serve(ctx, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	c, err := d.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Mkdir(ctx, "offices/local/demo", 0o750); err != nil {
		return err
	}
	use := func(n int) error {
		dir := fmt.Sprintf("offices/local/demo/sessions/s%d", n)
		if err := c.Mkdir(ctx, dir, 0o750); err != nil {
			return err
		}
		if err := c.WriteFile(ctx, dir+"/prompt", []byte("hello")); err != nil {
			return err
		}
		for _, file := range []string{"reply", "wait", "transcript", "status"} {
			if _, err := c.ReadFile(ctx, dir+"/"+file); err != nil {
				return err
			}
		}
		return c.Remove(ctx, dir)
	}
	if err := use(-1); err != nil {
		return err
	}
	before, err := d.descriptors()
	if err != nil {
		return err
	}
	for n := range w.times(1000) {
		if err := use(n); err != nil {
			return err
		}
	}
	after, err := d.descriptors()
	if err == nil {
		w.size("descriptors more after 1,000 sessions", float64(after-before), 0, "")
	}
	return err
}

// descriptors counts those that the daemon has open.
func (d *daemon) descriptors() (int, error) {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	return len(list), err
}
