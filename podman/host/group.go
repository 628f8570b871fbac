package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mikan/wire"
)

// grace is how long killed processes may take to be gone. Only one that hangs in
// the kernel takes longer.
const grace = time.Second

// group is the processes of one command: a process group, and under Bubblewrap
// also a pid namespace.
type group struct {
	cmd    *exec.Cmd // the group's leader: the shell, or bwrap
	init   int       // pidfd of the first process of the namespace; -1 if none
	status *os.File  // where bwrap reports; nil if unconfined
}

// wait waits for the end of the group's leader, or kills it when ctx is done,
// and sees to it that nothing of the group is left.
func (g *group) wait(ctx context.Context) (wire.Exit, error) {
	defer g.close()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		g.kill()
	})
	waitErr := waitZombie(g.cmd.Process.Pid)
	stopped := !stop()
	if stopped {
		<-killed
	}
	g.kill() // what it left running
	err := g.cmd.Wait()
	g.gone()

	var ee *exec.ExitError
	if err = errors.Join(waitErr, err); err != nil && !errors.As(err, &ee) {
		return wire.Exit{}, err
	}
	exit := exitOf(g.cmd.ProcessState.Sys().(syscall.WaitStatus))
	exit.TimedOut = stopped && exit.Signal == syscall.SIGKILL.String() && context.Cause(ctx) == errTimeOut
	if exit.Code != 0 && !stopped && g.status != nil && !reported(g.status) {
		return wire.Exit{}, fmt.Errorf("bubblewrap could not set up the command's namespaces (exit status %d); what it says stands in the standard error", exit.Code)
	}
	return exit, nil
}

// kill kills all the group's processes. It must not be called once the leader
// has been reaped: the number might be another's then.
func (g *group) kill() {
	if g.init >= 0 {
		_ = unix.PidfdSendSignal(g.init, unix.SIGKILL, nil, 0) // ESRCH: gone already
	}
	_ = unix.Kill(-g.cmd.Process.Pid, unix.SIGKILL)
}

// gone waits until the killed processes are gone, at most for the grace.
func (g *group) gone() {
	end := time.Now().Add(grace)
	if g.init >= 0 {
		waitPidfd(g.init, grace)
	}
	for pgid := g.cmd.Process.Pid; alive(pgid) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// alive reports whether a group, which has lost its leader, still has a process
// that is more than a zombie.
func alive(pgid int) bool {
	// Orphans are reaped by init, sooner or later; it may be that we are init.
	_, _ = unix.Wait4(-pgid, nil, unix.WNOHANG, nil)
	if unix.Kill(-pgid, 0) == unix.ESRCH {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, _ := os.ReadFile(name) // gone, if not there
		_, rest, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')')+1:], []byte(" "))
		f := bytes.Fields(rest) // state, parent, group, …
		if len(f) > 2 && string(f[2]) == strconv.Itoa(pgid) && !bytes.ContainsAny(f[0], "ZX") {
			return true
		}
	}
	return false
}

func (g *group) close() {
	if g.init >= 0 {
		unix.Close(g.init)
	}
	if g.status != nil {
		g.status.Close()
	}
}

// waitZombie waits until a child has ended, and leaves it as a zombie, so that
// its number and its group's stay taken.
func waitZombie(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return os.NewSyscallError("waitid", err)
		}
	}
}

// waitPidfd waits until a process has ended, which the first one of a namespace
// has when all others in there are gone, or until a time has passed.
func waitPidfd(fd int, d time.Duration) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for end := time.Now().Add(d); ; {
		_, err := unix.Poll(fds, int(max(0, time.Until(end)).Milliseconds()))
		if err != unix.EINTR {
			return
		}
	}
}

// exitOf reads a wait status.
func exitOf(ws syscall.WaitStatus) wire.Exit {
	code := ws.ExitStatus()
	if ws.Signaled() {
		code = 128 + int(ws.Signal())
	}
	exit := wire.Exit{Code: code}
	if sig := syscall.Signal(code - 128); deadly(sig) {
		exit.Signal = sig.String()
	}
	return exit
}

// deadly reports whether a signal ends processes in the ordinary run of things.
func deadly(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP,
		syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGKILL, syscall.SIGUSR1,
		syscall.SIGSEGV, syscall.SIGUSR2, syscall.SIGPIPE, syscall.SIGALRM, syscall.SIGTERM,
		syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGSYS:
		return true
	}
	return false
}
