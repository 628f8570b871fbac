package harness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// shell is a computer in a temporary directory, without any confinement.
type shell struct{ dir string }

func newShell(t *testing.T) *shell { return &shell{t.TempDir()} }

func (s *shell) Dir() string { return s.dir }

func (s *shell) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

func (s *shell) Run(ctx context.Context, c Command) (Exit, error) {
	timeout := c.Timeout
	if timeout == 0 {
		timeout = 10 * time.Minute
	}
	run, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(run, "sh", "-c", c.Script)
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	err := cmd.Run()
	if cmd.Process == nil {
		return Exit{}, err
	}
	if kill := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); kill != nil && !errors.Is(kill, syscall.ESRCH) {
		return Exit{}, kill
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	e := Exit{Code: status.ExitStatus()}
	if status.Signaled() {
		e = Exit{Code: 128 + int(status.Signal()), Signal: status.Signal().String()}
	}
	e.TimedOut = ctx.Err() == nil && run.Err() != nil
	return e, nil
}

type diskFile struct {
	*os.File
	size int64
}

func (f diskFile) Size() int64 { return f.size }

func (s *shell) Open(_ context.Context, name string) (File, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return diskFile{f, info.Size()}, nil
}

type stagedFile struct {
	bytes.Buffer
	path string
}

func (s *shell) Create(ctx context.Context, name string) (Staged, error) {
	return &stagedFile{path: s.path(name)}, ctx.Err()
}

func (f *stagedFile) Commit() error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(f.path, f.Bytes(), 0o644)
}

func (f *stagedFile) Discard() {}

// use calls one of the tools on s.
func (s *shell) use(t *testing.T, name, args string) (Result, error) {
	t.Helper()
	return s.useCtx(t, context.Background(), name, args, func(string) {})
}

func (s *shell) useCtx(t *testing.T, ctx context.Context, name, args string, progress func(string)) (Result, error) {
	t.Helper()
	for _, tool := range Tools(s, nil) {
		if tool.Name == name {
			return tool.Run(ctx, []byte(args), progress)
		}
	}
	t.Fatalf("no tool %s", name)
	return Result{}, nil
}

func (s *shell) put(t *testing.T, name, content string) {
	t.Helper()
	fatal(t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	fatal(t, os.WriteFile(s.path(name), []byte(content), 0o644))
}

func (s *shell) get(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(s.path(name))
	fatal(t, err)
	return string(data)
}

func plain(r Result) string {
	var s string
	for _, p := range r.Content {
		s += p.Text
	}
	return s
}
