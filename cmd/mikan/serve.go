package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"mikan/fs"
	"mikan/fs/fuse"
	"mikan/fs/ninep"
	"mikan/harness"
	"mikan/harness/mcp"
	"mikan/harness/models"
	"mikan/podman/host"
	"mikan/runtime"
	"mikan/runtime/tree"
)

type serveCmd struct {
	stateFlag
	Workspace  string        `help:"The directory of the offices' files (~/mikan)." type:"path" placeholder:"DIR" env:"MIKAN_WORKSPACE"`
	Mount      string        `help:"Mount the tree here." type:"path" placeholder:"DIR"`
	Sandbox    string        `help:"Where the agent's commands run: host." placeholder:"SPEC"`
	Drain      time.Duration `help:"How long a run may go on when the daemon ends, before it is interrupted." default:"30s" placeholder:"DURATION"`
	AllowOther bool          `help:"Let other users into the mount, as the mode bits say."`
	SocketMode string        `help:"Mode of the socket, in octal." default:"0600" placeholder:"MODE"`
}

// Run serves until ctx is done or the tree's ctl says shutdown, and then ends at its
// leisure, until hurry is done.
func (c *serveCmd) Run(ctx context.Context, hurry hurry, std *streams) error {
	if err := c.checkSandbox(); err != nil {
		return err
	}
	if c.Drain < 0 {
		return &exitError{exitUsage, fmt.Errorf("--drain %v: want a duration such as 30s; with 0 runs are interrupted at once", c.Drain)}
	}
	d, err := c.prepare()
	if err != nil {
		return err
	}
	return errors.Join(d.serve(ctx, hurry, std), d.release())
}

// checkSandbox refuses to run the agent's commands where nobody said.
func (c *serveCmd) checkSandbox() error {
	switch c.Sandbox {
	case "host":
		return nil
	case "":
		return errors.New("serve needs --sandbox: with \"--sandbox host\" the agent's commands run on this host, under bubblewrap where it works")
	}
	return fmt.Errorf("sandbox %q is not known; this version runs the agent's commands on the host: --sandbox host", c.Sandbox)
}

// daemon is what serve has taken and must give back.
type daemon struct {
	cmd     *serveCmd
	ws      *runtime.Workspace
	mode    os.FileMode
	unlock  func() error
	logFile *os.File
	log     *slog.Logger
	level   slog.LevelVar
}

// prepare takes the state directory.
func (c *serveCmd) prepare() (*daemon, error) {
	mode, err := strconv.ParseUint(c.SocketMode, 8, 12)
	if err != nil || mode > 0o777 {
		return nil, &exitError{exitUsage, fmt.Errorf("--socket-mode %s: want an octal mode such as 0660", c.SocketMode)}
	}
	state, err := c.dir()
	if err != nil {
		return nil, err
	}
	if c.Workspace == "" {
		if c.Workspace, err = inHome("mikan"); err != nil {
			return nil, err
		}
	}
	ws, err := runtime.NewWorkspace(c.Workspace, state)
	if err != nil {
		return nil, err
	}
	d := &daemon{cmd: c, ws: ws, mode: os.FileMode(mode)}
	if d.unlock, err = runtime.Lock(ws.StateDir); err != nil {
		return nil, err
	}
	if err := d.openLog(); err != nil {
		return nil, errors.Join(err, d.unlock())
	}
	return d, nil
}

func (d *daemon) release() error { return errors.Join(d.logFile.Close(), d.unlock()) }

// serve makes the runtime and its fronts and keeps them up.
func (d *daemon) serve(ctx context.Context, hurry hurry, std *streams) error {
	if err := runtime.CheckFormat(ctx, d.ws); err != nil {
		return err
	}
	if err := os.MkdirAll(d.ws.Root, 0o700); err != nil {
		return err
	}
	if err := host.KillLeftovers(d.ws.StateDir); err != nil {
		return err
	}
	mode, why := host.Confinement(ctx)
	rt, err := runtime.Start(ctx, runtime.Config{
		Workspace: d.ws,
		LoadModels: func() (*models.Registry, error) {
			return models.Load(models.Options{StateDir: d.ws.StateDir, Env: os.Getenv})
		},
		Computer: func(_ context.Context, o *runtime.Office) (harness.Computer, string, error) {
			return d.computer(o, mode)
		},
		Log: d.log,
		MCP: mcp.Options{Version: version},
	})
	if err != nil {
		return unlessAsked(ctx, err)
	}
	if mode == host.None {
		d.log.Warn("commands are not confined", "why", why)
	}
	return errors.Join(d.fronts(ctx, hurry, rt, std), rt.Close())
}

// unlessAsked is err, unless it says no more than that a signal ended the start.
func unlessAsked(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// computer makes the computer of an office on this host.
func (d *daemon) computer(o *runtime.Office, mode host.Mode) (harness.Computer, string, error) {
	c, err := host.New(host.Config{
		Files: o.Dir, Home: o.Home,
		ReadOnly: []string{d.ws.Memory, d.ws.Skills, d.ws.Agents, o.Log},
		Hidden:   d.hidden(), Confine: mode,
	})
	if err != nil {
		return nil, "", err
	}
	if mode == host.None {
		return c, "Commands run on the host itself, as its user.", nil
	}
	return c, "Commands run confined: the system and the shared workspace are read-only, /tmp is empty for each command, the network is there. Background processes end with their command.", nil
}

// hidden is what no command may see.
func (d *daemon) hidden() []string {
	list := []string{d.ws.StateDir}
	if d.cmd.Mount != "" {
		list = append(list, d.cmd.Mount)
	}
	if ns := namespaceSocket(); ns != "" {
		list = append(list, ns)
	}
	return list
}

// shutdownPause is what whoever wrote "shutdown" has to close his file, before
// he is hung up on.
const shutdownPause = 100 * time.Millisecond

// fronts serves the tree over 9P and mounts it, and only then lets what waits go
// on, until ctx is done or ctl says shutdown. Then the runtime ends, the mount goes,
// and the connections are hung up.
func (d *daemon) fronts(asked context.Context, hurry hurry, rt *runtime.Runtime, std *streams) (err error) {
	ctx, cancel := context.WithCancel(asked)
	defer cancel()
	t := tree.New(rt, tree.Daemon{
		Version: version, Log: fileLog{d.logFile.Name()}, Status: d.status,
		Shutdown: func() { time.AfterFunc(shutdownPause, cancel) }, Debug: d.debug,
	})
	listeners, err := d.listen()
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var g errgroup.Group
	for _, l := range listeners {
		s := &ninep.Server{Tree: t, Log: d.log}
		g.Go(func() error { defer cancel(); return s.Serve(serving, l) })
	}
	unmount, err := d.mount(t)
	if err == nil {
		err = unlessAsked(ctx, rt.Resume(ctx))
	}
	if err == nil {
		d.announce(ctx, rt, std)
		<-ctx.Done()
		d.log.Info("ending")
	}
	if asked.Err() == nil {
		hurry.Context = asked // ctl was first, and no signal has come
	}
	err = errors.Join(err, d.end(hurry, rt, unmount, std.err))
	stop()
	return errors.Join(err, g.Wait())
}

// end ends the runtime and takes the mount away. What runs settles before its
// readers lose the files that tell them so, except in a hurry: then the mount goes
// first, so that it is not left behind whoever is waited for.
func (d *daemon) end(hurry context.Context, rt *runtime.Runtime, unmount func() error, out io.Writer) error {
	if names := rt.Running(); len(names) > 0 && d.cmd.Drain > 0 {
		fmt.Fprintf(out, "mikan: ending; %s may go on for %v; a second signal ends it now\n", strings.Join(names, ", "), d.cmd.Drain)
	}
	defer context.AfterFunc(hurry, func() { _ = unmount() })() // again below, with the same error
	err := errors.Join(rt.Shutdown(hurry, d.cmd.Drain), unmount())
	if hurry.Err() != nil {
		err = errors.Join(err, errors.New("a signal asked for the end at once"))
	}
	if err != nil {
		err = fmt.Errorf("graceful shutdown failed: %w", err)
	}
	return err
}

// mount mounts the tree, if it is to be, and returns what takes it away.
func (d *daemon) mount(t *fs.Tree) (unmount func() error, err error) {
	none := func() error { return nil }
	if d.cmd.Mount == "" {
		return none, nil
	}
	m, err := fuse.Mount(d.cmd.Mount, t, fuse.Options{AllowOther: d.cmd.AllowOther, Log: d.log})
	if err != nil {
		return none, err
	}
	return m.Close, nil
}

// listen makes the sockets: in the state directory, and where Plan 9 programs
// look.
func (d *daemon) listen() (list []net.Listener, err error) {
	for _, path := range []string{socketIn(d.ws.StateDir), namespaceSocket()} {
		if path == "" {
			continue
		}
		l, err := ninep.ListenUnix(path, d.mode)
		if err != nil {
			for _, l := range list {
				l.Close()
			}
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

func (d *daemon) status() []byte {
	s := "socket " + socketIn(d.ws.StateDir) + "\n"
	if d.cmd.Mount != "" {
		s += "mount " + d.cmd.Mount + "\n"
	}
	return []byte(s)
}

func (d *daemon) debug(on bool) {
	d.level.Set(slog.LevelInfo)
	if on {
		d.level.Set(slog.LevelDebug)
	}
}

// announce says that the daemon is ready, and with which model.
func (d *daemon) announce(ctx context.Context, rt *runtime.Runtime, std *streams) {
	where := socketIn(d.ws.StateDir)
	if d.cmd.Mount != "" {
		where = d.cmd.Mount
	}
	model, why, err := rt.DefaultModel(ctx)
	if err != nil {
		model, why = "none", err.Error()
	}
	d.log.Info("ready", "version", version, "at", where, "model", model, "why", why)
	fmt.Fprintf(std.out, "mikan: ready at %s; model %s (%s)\n", where, model, why)
}

// logLimit is the size at which the daemon's log is put aside when it starts.
const logLimit = 16 << 20

// openLog opens the daemon's log, which is JSON lines in the state directory,
// and says the same on standard error.
func (d *daemon) openLog() error {
	path := filepath.Join(d.ws.StateDir, "log.jsonl")
	if info, err := os.Stat(path); err == nil && info.Size() > logLimit {
		if err := os.Rename(path, path+".old"); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	opts := &slog.HandlerOptions{Level: &d.level}
	d.logFile = f
	d.log = slog.New(slog.NewMultiHandler(slog.NewJSONHandler(f, opts), slog.NewTextHandler(os.Stderr, opts)))
	return nil
}

// fileLog is a log that lies in a file.
type fileLog struct{ path string }

// Size is the file's.
func (l fileLog) Size(context.Context) (int64, time.Time, error) {
	info, err := os.Stat(l.path)
	if err != nil {
		return 0, time.Time{}, err
	}
	return info.Size(), info.ModTime(), nil
}

// ReadAt reads the file.
func (l fileLog) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	f, err := os.Open(l.path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := f.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}
