package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"mikan/fs/fuse"
	"mikan/fs/ninep"
	"mikan/harness/models"
	"mikan/podman/host"
	"mikan/runtime"
)

type doctorCmd struct{ socketFlags }

// doctorPatience bounds each check.
const doctorPatience = 10 * time.Second

// Run checks what mikan needs and prints a line on each, with what to do.
func (c *doctorCmd) Run(ctx context.Context, std *streams) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	checks := []struct {
		name  string
		needs bool // the daemon does not start without it
		check func(context.Context) (string, error)
	}{
		{"fuse", false, checkFUSE},
		{"bubblewrap", false, checkBubblewrap},
		{"podman", false, checkPodman},
		{"settings", true, func(context.Context) (string, error) {
			_, err := runtime.ReadSettings(dir)
			return "settings.json is in order", err
		}},
		{"model", true, func(ctx context.Context) (string, error) { return checkModel(ctx, dir) }},
		{"daemon", false, c.checkDaemon},
	}
	sick := false
	for _, k := range checks {
		ctx, cancel := context.WithTimeout(ctx, doctorPatience)
		note, err := k.check(ctx)
		cancel()
		mark := "ok"
		if err != nil {
			mark, note = "no", err.Error()
			sick = sick || k.needs
		}
		fmt.Fprintf(std.out, "%-11s %-3s %s\n", k.name, mark, note)
	}
	if sick {
		return &exitError{exitFailed, nil}
	}
	return nil
}

func checkFUSE(context.Context) (string, error) {
	if err := fuse.Available(fuse.Options{}); err != nil {
		return "", fmt.Errorf("%w; without a mount, \"mikan ls\", \"cat\", \"write\" and \"ask\" do the same over 9P", err)
	}
	return "the tree can be mounted", nil
}

func checkBubblewrap(ctx context.Context) (string, error) {
	mode, why := host.Confinement(ctx)
	if mode == host.None {
		return "", errors.New(why)
	}
	return "the agent's commands can be confined on this host", nil
}

func checkPodman(ctx context.Context) (string, error) {
	path, err := exec.LookPath("podman")
	if err != nil {
		return "", errors.New("podman is not installed; this version does not need it")
	}
	return path + " (this version does not use it)", ctx.Err()
}

func checkModel(ctx context.Context, stateDir string) (string, error) {
	m, err := models.Load(models.Options{StateDir: stateDir, Env: os.Getenv})
	if err != nil {
		return "", err
	}
	s, err := runtime.ReadSettings(stateDir)
	if err != nil {
		return "", err
	}
	model, why, err := m.Default(ctx, s.LLM.Provider, s.LLM.Model)
	if err != nil {
		return "", err
	}
	if model.Provider == "demo" {
		return "demo/echo, which is no model: set ANTHROPIC_API_KEY or another provider's key, or run Ollama", nil
	}
	return fmt.Sprintf("%s (%s)", model, why), nil
}

func (c *doctorCmd) checkDaemon(ctx context.Context) (string, error) {
	path, err := c.path()
	if err != nil {
		return "", err
	}
	client, err := ninep.Dial(ctx, path)
	if err != nil {
		return "", noDaemon(path, err)
	}
	return "answers on " + path, client.Close()
}
