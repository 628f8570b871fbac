package mcp

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// How long a server that was told to end may take: its standard input is closed,
// then it gets SIGTERM, then its group is killed.
const (
	closeGrace = 500 * time.Millisecond
	termGrace  = 500 * time.Millisecond
	killGrace  = 2 * time.Second // only one that hangs in the kernel takes longer
)

// process is a stdio server: a process and all those of its group.
type process struct {
	stdin  *os.File // we write
	stdout *os.File // we read
	lines  *bufio.Reader
	stderr *tail
	junk   int // bytes that were no message, since the last one
	pace   pace
	unread atomic.Int32 // answers that are being written

	writing chan struct{} // held while a message is written
	quit    chan struct{} // closed by Close
	closing sync.Once
	gone    chan struct{} // closed when the group was killed and its leader reaped
	owners  sync.WaitGroup

	mu     sync.Mutex
	pid    int
	reaped bool // the number may be another's
}

// startProcess starts a server.
func startProcess(c Config) (*process, error) {
	cmd, err := command(c)
	if err != nil {
		return nil, err
	}
	in, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	stdout, out, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close(), stdin.Close())
	}
	p := &process{
		stdin: stdin, stdout: stdout, lines: bufio.NewReaderSize(stdout, 64<<10), stderr: &tail{},
		writing: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = killGrace // for the standard error, if something got away with it

	started := make(chan error, 1)
	p.owners.Go(func() { p.own(cmd, started) })
	err = <-started
	in.Close()
	out.Close()
	if err != nil {
		p.owners.Wait()
		stdin.Close()
		stdout.Close()
		return nil, err
	}
	p.owners.Go(p.escort)
	return p, nil
}

// own starts the command and waits for its end, on one thread: the kernel kills a
// child when the thread that made it ends. What the leader leaves of its group is
// killed while the leader's number is still taken.
func (p *process) own(cmd *exec.Cmd, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.gone)
	if err := cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	for {
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.signal(unix.SIGKILL)
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	if err := cmd.Wait(); err != nil {
		fmt.Fprintf(p.stderr, "\n[%v]", err)
	}
}

// escort waits for Close and then sees to it that the process ends.
func (p *process) escort() {
	select {
	case <-p.quit:
	case <-p.gone:
		return
	}
	for _, step := range []struct {
		grace time.Duration
		then  syscall.Signal
	}{{closeGrace, unix.SIGTERM}, {termGrace, unix.SIGKILL}} {
		select {
		case <-p.gone:
			return
		case <-time.After(step.grace):
			p.signal(step.then)
		}
	}
}

// signal sends a signal to the whole group.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.pid, sig) // ESRCH: it is gone
	}
}

// Close tells the process to end and does not wait.
func (p *process) Close() error {
	p.closing.Do(func() {
		close(p.quit)
		p.stdin.Close()
		_ = p.stdout.SetReadDeadline(time.Unix(1, 0)) // wakes Read
	})
	return nil
}

// end closes the process and returns when it and its group are gone.
func (p *process) end() {
	_ = p.Close()
	p.owners.Wait()
	p.stdin.Close()
	p.stdout.Close()
}
