package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"mikan/podman/host"
	"mikan/wire"
)

// bashRow is a command of an office on this host beside a plain one. There is no
// budget for it: a container's guest has one.
func bashRow(ctx context.Context, w *world) error {
	mode, _ := host.Confinement(ctx)
	files := filepath.Join(w.dir, "office", "files")
	if err := os.MkdirAll(files, 0o700); err != nil {
		return err
	}
	c, err := host.New(host.Config{Files: files, Home: filepath.Join(w.dir, "office", "home"), Confine: mode})
	if err != nil {
		return err
	}
	run := func() error {
		exit, err := c.Run(ctx, wire.Command{Script: ":", Timeout: time.Minute})
		if err == nil && exit.Code != 0 {
			err = fmt.Errorf("the command failed: %+v", exit)
		}
		return err
	}
	d, err := duel(w.times(20),
		func() (time.Duration, error) { return timed(w.times(20), run) },
		func() (time.Duration, error) {
			return timed(w.times(20), func() error { return exec.CommandContext(ctx, "/bin/sh", "-c", ":").Run() })
		})
	if err == nil {
		w.cost("a command on this host, "+mode.String(), "fork and exec", d, 0)
	}
	return err
}
