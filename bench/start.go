package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"mikan/runtime"
)

const manyOffices = 10_000

// fillHome puts many more offices into a home that a daemon has used before:
// their records and their directories.
func fillHome(h home) error {
	type record struct {
		Platform       string    `json:"platform"`
		ConversationID string    `json:"conversationId"`
		RecordedAt     time.Time `json:"recordedAt"`
	}
	var list struct {
		Version int      `json:"version"`
		Offices []record `json:"offices"`
	}
	registry := filepath.Join(h.state, "office-registry.json")
	if data, err := os.ReadFile(registry); err == nil {
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
	}
	list.Version = 1
	now := time.Now().UTC().Truncate(time.Millisecond)
	ws, err := runtime.NewWorkspace(h.workspace, h.state)
	if err != nil {
		return err
	}
	for n := range manyOffices {
		a, err := runtime.NewAddress(runtime.Local, fmt.Sprintf("office-%d", n))
		if err != nil {
			return err
		}
		list.Offices = append(list.Offices, record{a.Platform, a.ConversationID, now})
		o := ws.Office(a)
		for _, dir := range []string{o.Dir, o.State} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				return err
			}
		}
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(registry, data, 0o600)
}

// once starts a daemon, stops it and returns how long it took to be ready.
func (w *world) once(ctx context.Context, h home) (time.Duration, error) {
	d, err := w.serve(ctx, h)
	if err != nil {
		return 0, err
	}
	return d.ready, d.stop()
}

// startRow is the start of a daemon with many offices beside one with none.
func startRow(ctx context.Context, w *world) error {
	none, err := w.home("none", demoSettings, nil)
	if err != nil {
		return err
	}
	many, err := w.home("many", demoSettings, nil)
	if err != nil {
		return err
	}
	for _, h := range []home{none, many} {
		if _, err := w.once(ctx, h); err != nil {
			return err
		}
	}
	if err := fillHome(many); err != nil {
		return err
	}
	d, err := duel(max(3, w.times(15)),
		func() (time.Duration, error) { return w.once(ctx, many) },
		func() (time.Duration, error) { return w.once(ctx, none) })
	if err == nil {
		w.cost("daemon ready with 10,000 offices", "with none", d, 2)
	}
	return err
}

// versionRow is the shortest thing that the binary does.
func versionRow(ctx context.Context, w *world) error {
	run := func(argv ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) {
			return timed(1, func() error { return exec.CommandContext(ctx, argv[0], argv[1:]...).Run() })
		}
	}
	d, err := duel(max(3, w.times(50)), run(w.mikan, "version"), run("true"))
	if err == nil {
		w.limit("mikan version", "true", d, d.ours, 20*time.Millisecond)
	}
	return err
}
