package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mikan/fs"
	"mikan/fs/ninep"
)

// home is the state directory and the workspace of a daemon.
type home struct{ state, workspace string }

// home makes a state directory with settings, and some more files in it.
func (w *world) home(name, settings string, files map[string]string) (home, error) {
	h := home{filepath.Join(w.dir, name, "state"), filepath.Join(w.dir, name, "workspace")}
	if err := os.MkdirAll(h.state, 0o700); err != nil {
		return h, err
	}
	err := os.WriteFile(filepath.Join(h.state, "settings.json"), []byte(settings), 0o600)
	for file, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(h.state, file), []byte(text), 0o600))
	}
	return h, err
}

const demoSettings = `{"llm": {"provider": "demo", "model": "echo"}}` + "\n"

// daemon is a running mikan serve.
type daemon struct {
	home
	cmd   *exec.Cmd
	ready time.Duration // from the start to the line that says so
	drain chan struct{}
}

// serve starts a daemon and waits until it is ready.
func (w *world) serve(ctx context.Context, h home) (*daemon, error) {
	cmd := exec.CommandContext(ctx, w.mikan, "serve", "--state-dir", h.state, "--workspace", h.workspace, "--sandbox", "host")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.state, "LANG=C.UTF-8"}
	cmd.Dir = "/"
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%w; \"make build\" makes the binary", err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	d := &daemon{home: h, cmd: cmd, ready: time.Since(began), drain: make(chan struct{})}
	go func() {
		defer close(d.drain)
		_, _ = io.Copy(io.Discard, lines)
	}()
	if err != nil || !strings.Contains(line, "ready") {
		return nil, errors.Join(fmt.Errorf("serve said %q: %w", line, err), d.stop())
	}
	return d, nil
}

func (d *daemon) stop() error {
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	<-d.drain
	return d.cmd.Wait()
}

func (d *daemon) dial(ctx context.Context) (*fs.Client, error) {
	return ninep.Dial(ctx, filepath.Join(d.state, "run", "9p"))
}

// resident is the memory that the daemon has, in MiB.
func (d *daemon) resident() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if n, _ := fmt.Sscanf(line, "VmRSS: %f kB", &kib); n == 1 {
			return kib / 1024, nil
		}
	}
	return 0, errors.New("the kernel does not say how much memory a process has")
}
