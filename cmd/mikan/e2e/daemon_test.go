package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startLimit and endLimit are how long a daemon may take on a busy machine.
const (
	startLimit = 30 * time.Second
	endLimit   = 8 * time.Second
)

// daemon is a running "mikan serve".
type daemon struct {
	w      *world
	cmd    *exec.Cmd
	ready  string // the line that said so
	stderr *tail
	done   chan struct{} // closed when it has ended
}

// serve starts a daemon with the mount and waits until it is ready.
func (w *world) serve(args ...string) *daemon {
	w.Helper()
	needsMount(w)
	return w.serve9P(append([]string{"--mount", w.mount}, args...)...)
}

// serve9P starts a daemon without a mount and waits until it is ready.
func (w *world) serve9P(args ...string) *daemon {
	w.Helper()
	d := &daemon{w: w, cmd: w.serveCommand(args...), stderr: &tail{}, done: make(chan struct{})}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	d.cmd.Stderr = d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	line := make(chan string, 1)
	go func() {
		out := bufio.NewReader(stdout)
		text, _ := out.ReadString('\n')
		line <- text
		_ = d.cmd.Wait() // ProcessState tells
		close(d.done)
	}()
	w.last = d
	w.Cleanup(func() {
		d.kill9()
		if w.Failed() && w.last == d {
			w.Logf("the last daemon: %s", d.stderr)
		}
	})
	select {
	case d.ready = <-line:
	case <-time.After(startLimit):
		w.Fatalf("the daemon is not ready after %v: %s", startLimit, d.stderr)
	}
	if !strings.HasPrefix(d.ready, "mikan: ready at ") {
		<-d.done
		w.Fatalf("the daemon did not start: %s%s", d.ready, d.stderr)
	}
	return d
}

// serveCommand is the command line of a daemon in this world. At its end it waits
// for no run, unless args say so.
func (w *world) serveCommand(args ...string) *exec.Cmd {
	args = append([]string{"serve", "--state-dir", w.state, "--workspace", w.workspace, "--drain", "0s", "--sandbox", "host"}, args...)
	cmd := exec.Command(bin+"/mikan", args...)
	cmd.Dir = "/"
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir + "/home"}, w.env...)
	return cmd
}

// refused runs a daemon that must not start, and returns what it said.
func (w *world) refused(args ...string) string {
	w.Helper()
	return refusal(w, w.serveCommand(args...))
}

// refusal runs a command that must fail without having served anything.
func refusal(w *world, cmd *exec.Cmd) string {
	w.Helper()
	r := runCommand(w, cmd, startLimit)
	if r.code == 0 || strings.Contains(r.out, "ready") {
		w.Errorf("%q: exit %d, %q: it should have refused", cmd.Args[1:], r.code, r.out)
	}
	return r.err
}

func (d *daemon) signal(s syscall.Signal) {
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.w.Error(err)
	}
}

// kill9 ends the daemon without a warning.
func (d *daemon) kill9() {
	d.signal(syscall.SIGKILL)
	select {
	case <-d.done:
	case <-time.After(endLimit):
		d.w.Error("the killed daemon waits for its own mount")
		d.w.unmount()
		<-d.done
	}
}

// term ends the daemon as init does, and returns its exit status.
func (d *daemon) term() int {
	d.w.Helper()
	d.signal(syscall.SIGTERM)
	return d.exit()
}

// exit waits for the daemon's end and returns its exit status.
func (d *daemon) exit() int {
	d.w.Helper()
	select {
	case <-d.done:
	case <-time.After(endLimit):
		d.w.Fatalf("the daemon has not ended after %v: %s", endLimit, d.stderr)
	}
	return d.cmd.ProcessState.ExitCode()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - 16<<10; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
