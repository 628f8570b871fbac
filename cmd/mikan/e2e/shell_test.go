package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// stepLimit is how long a command of a test may take.
const stepLimit = 30 * time.Second

// result is how a command ended.
type result struct {
	argv []string
	out  string
	err  string
	code int
}

// ok fails the test if the command failed.
func (r result) ok(tb testing.TB) result {
	tb.Helper()
	if r.code != 0 {
		tb.Fatalf("%q\nexit %d: %s%s", r.argv, r.code, r.out, r.err)
	}
	return r
}

// shellEnv is what a script finds.
func (w *world) shellEnv() []string {
	return []string{
		"M=" + w.mount, "D=" + w.mount + "/offices/local/demo", "T=" + w.dir, "MIKAN_SOCKET=" + w.socket(),
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + w.dir + "/home", "LC_ALL=C.UTF-8",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
}

// command is a command in this world, which is killed with all its children.
func (w *world) command(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = "/", w.shellEnv()
	return cmd
}

// run runs a command that must end in time.
func (w *world) run(argv ...string) result {
	w.Helper()
	return runCommand(w, w.command(argv...), stepLimit)
}

// sh runs a script with bash.
func (w *world) sh(script string) result {
	w.Helper()
	return w.run("bash", "-c", script)
}

// must runs a script that must succeed and returns what it printed.
func (w *world) must(script string) string {
	w.Helper()
	return w.sh("set -e; " + script).ok(w).out
}

// mikan runs the command line.
func (w *world) mikan(args ...string) result {
	w.Helper()
	return w.run(append([]string{bin + "/mikan"}, args...)...)
}

func runCommand(w *world, cmd *exec.Cmd, limit time.Duration) result {
	w.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	group(cmd)
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	late := time.AfterFunc(limit, func() { killGroup(cmd) })
	err := cmd.Wait()
	var exit *exec.ExitError
	if !late.Stop() || err != nil && !errors.As(err, &exit) {
		w.Fatalf("%q: %v (limit %v): %s%s", cmd.Args, err, limit, stdout.String(), stderr.String())
	}
	return result{cmd.Args, stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
}

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have gone
}

// background is a script that runs beside the test.
type background struct {
	w   *world
	cmd *exec.Cmd
	in  io.WriteCloser
	out chan string // its lines; closed at their end
	err tail

	kill func()
}

// start runs a script with bash; it is killed when the test ends.
func (w *world) start(script string) *background {
	w.Helper()
	b := &background{w: w, cmd: w.command("bash", "-c", script), out: make(chan string, 4096)}
	group(b.cmd)
	b.cmd.Stderr = &b.err
	stdout, err := b.cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		w.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(b.out)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			b.out <- lines.Text()
		}
	}()
	b.kill = sync.OnceFunc(func() {
		killGroup(b.cmd)
		for range b.out { // so that the reader ends
		}
		<-ended
		_ = b.cmd.Wait() // killed
	})
	w.Cleanup(b.kill)
	return b
}

// line is the next line that the script prints.
func (b *background) line() string {
	b.w.Helper()
	select {
	case line, ok := <-b.out:
		if !ok {
			b.w.Fatalf("%q ended: %s", b.cmd.Args, &b.err)
		}
		return line
	case <-time.After(stepLimit):
		b.w.Fatalf("%q printed nothing for %v: %s", b.cmd.Args, stepLimit, &b.err)
	}
	return ""
}

// rest is all that the script still prints until it ends.
func (b *background) rest() (lines []string) {
	b.w.Helper()
	limit := time.After(stepLimit)
	for {
		select {
		case line, ok := <-b.out:
			if !ok {
				return lines
			}
			lines = append(lines, line)
		case <-limit:
			b.w.Fatalf("%q has not ended after %v: %q %s", b.cmd.Args, stepLimit, lines, &b.err)
		}
	}
}

// quoted makes a script fit for single quotes.
func quoted(script string) string { return strings.ReplaceAll(script, "'", `'\''`) }
