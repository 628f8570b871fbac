package fuse_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/fuse"
)

// A process must not use a mount that it serves, so whatever touches one here
// is a child: a shell, or this test binary with a job.
const jobVar = "MIKAN_FUSE_TEST_JOB"

var jobs = map[string]func(args []string) error{
	"cycle":     cycle,
	"replace":   replace,
	"serve":     serve,
	"inbox":     serveInbox,
	"available": available,
	"case":      func(args []string) error { return fstest.RunCase(context.Background(), args[0], mountDoors(args[1])) },
}

func TestMain(m *testing.M) {
	if job := jobs[os.Getenv(jobVar)]; job != nil {
		if err := job(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	fstest.Main(m)
}

// child is this binary with a job to do.
func child(ctx context.Context, job string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	// The race detector would sleep for a second at the end.
	cmd.Env = append(os.Environ(), jobVar+"="+job, "GORACE=atexit_sleep_ms=1")
	return group(cmd)
}

// group makes cmd the leader of a process group that is killed whole.
func group(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second // on a machine that is busy, the last output may take its time
	return cmd
}

// cycle opens, reads and closes a file n times and prints the nanoseconds.
func cycle(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	began := time.Now()
	for range n {
		fd, err := unix.Open(args[0], unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		if _, err := unix.Read(fd, buf); err != nil {
			return err
		}
		_ = unix.Close(fd)
	}
	fmt.Print(time.Since(began).Nanoseconds())
	return nil
}

// available prints what Available says.
func available(args []string) error {
	fmt.Println(fuse.Available(fuse.Options{AllowOther: len(args) > 0}))
	return nil
}

// serve mounts a small tree until its input ends.
func serve(args []string) error {
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"file": &fs.Value{Get: newCell("hello\n").get}}}
	srv, err := fuse.Mount(args[0], newTree(root), fuse.Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return srv.Close()
}

// serveInbox mounts a body file until its input ends, and prints each body.
func serveInbox(args []string) error {
	commit := func(_ context.Context, who *fs.Identity, body []byte) error {
		_, err := fmt.Printf("%d %q\n", who.PID, body)
		return err
	}
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"prompt": &fs.Body{Commit: commit}}}
	srv, err := fuse.Mount(args[0], newTree(root), fuse.Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return srv.Close()
}

// started is a child that has printed its first line.
type started struct {
	cmd  *exec.Cmd
	line string
	in   io.WriteCloser
	out  *bufio.Reader
}

// start runs cmd until it prints a line. It is killed when the test ends.
func start(tb testing.TB, cmd *exec.Cmd) *started {
	tb.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &started{cmd: cmd, in: in, out: bufio.NewReader(pipe)}
	tb.Cleanup(p.kill)
	p.line, err = p.out.ReadString('\n')
	if err != nil {
		p.kill()
		tb.Fatalf("%q: %v: %s", cmd.Args, err, stderr.String())
	}
	return p
}

// kill kills the whole group and waits for its leader.
func (p *started) kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	_ = p.cmd.Wait()
}

// bash is a script that is to run beside the test.
func bash(tb testing.TB, mount, script string) *started {
	tb.Helper()
	cmd := group(exec.CommandContext(tb.Context(), "bash", "-c", script))
	cmd.Env = shellEnv(tb, mount)
	return start(tb, cmd)
}

// measure runs cycle in a child and returns nanoseconds an operation.
func measure(tb testing.TB, path string, n int) float64 {
	tb.Helper()
	var stderr bytes.Buffer
	cmd := child(tb.Context(), "cycle", path, strconv.Itoa(n))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("cycle: %v: %s", err, stderr.String())
	}
	ns, err := strconv.ParseFloat(string(out), 64)
	if err != nil {
		tb.Fatal(err)
	}
	return ns / float64(n)
}
