package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	goruntime "runtime"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/harness/models"
	"mikan/podman/host"
	"mikan/runtime"
	"mikan/runtime/tree"
)

// touchedOffices are far more than the stores that stay open (64), whose memory is
// bounded and belongs to no office.
const touchedOffices = 1000

// memoryRows are what the daemon has in memory while nothing happens.
func memoryRows(ctx context.Context, w *world) error {
	h, err := w.home("idle", demoSettings, nil)
	if err != nil {
		return err
	}
	d, err := w.serve(ctx, h)
	if err != nil {
		return err
	}
	time.Sleep(500 * time.Millisecond) // what the start left to do is done
	mib, err := d.resident()
	if err = errors.Join(err, d.stop()); err != nil {
		return err
	}
	w.size("idle daemon, resident", mib, 40, "MiB")
	if err := w.makeTouched(ctx, h); err != nil {
		return err
	}
	return w.heapRows(ctx, h)
}

// inProcess is a runtime in this process, where the heap can be seen.
type inProcess struct {
	*fs.Client
	rt *runtime.Runtime
}

func open(ctx context.Context, h home) (inProcess, error) {
	ws, err := runtime.NewWorkspace(h.workspace, h.state)
	if err != nil {
		return inProcess{}, err
	}
	rt, err := runtime.Start(ctx, runtime.Config{
		Workspace: ws,
		LoadModels: func() (*models.Registry, error) {
			return models.Load(models.Options{StateDir: h.state, Env: os.Getenv})
		},
		Computer: func(_ context.Context, o *runtime.Office) (harness.Computer, string, error) {
			c, err := host.New(host.Config{Files: o.Dir, Home: o.Home, Confine: host.None})
			return c, "", err
		},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return inProcess{}, err
	}
	t := tree.New(rt, tree.Daemon{Log: &grown{}, Status: func() []byte { return nil }})
	c, err := t.Client(ctx, me)
	return inProcess{c, rt}, err
}

// makeTouched makes some offices by the proper way, and then many more.
func (w *world) makeTouched(ctx context.Context, h home) error {
	p, err := open(ctx, h)
	if err != nil {
		return err
	}
	for n := range w.times(touchedOffices) {
		if err := p.Mkdir(ctx, fmt.Sprintf("offices/local/touched-%d", n), 0o750); err != nil {
			return errors.Join(err, p.rt.Close())
		}
	}
	if err := p.rt.Close(); err != nil {
		return err
	}
	return fillHome(h)
}

func (w *world) heapRows(ctx context.Context, h home) (err error) {
	none := heap()
	p, err := open(ctx, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.rt.Close()) }()
	if _, err := p.ReadFile(ctx, "status"); err != nil {
		return err
	}
	untouched := heap()
	w.size("an office that nobody touched, heap", (untouched-none)/manyOffices/1024, 1, "KiB")
	if _, err := p.ReadDir(ctx, "offices/local"); err != nil {
		return err
	}
	listed := heap()
	w.size("an office that was listed, heap", (listed-none)/manyOffices/1024, 1, "KiB")
	touched := w.times(touchedOffices)
	for n := range touched {
		name := fmt.Sprintf("offices/local/touched-%d/", n)
		for _, file := range []string{"status", "log", "sessions/main/transcript"} {
			if _, err := p.ReadFile(ctx, name+file); err != nil {
				return err
			}
		}
	}
	w.size("an office that was read, heap more", (heap()-listed)/float64(touched)/1024, 1, "KiB")
	return nil
}

// heap is the bytes that are in use.
func heap() float64 {
	var m goruntime.MemStats
	for range 3 {
		goruntime.GC()
	}
	goruntime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
