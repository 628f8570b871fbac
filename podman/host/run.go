package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	"mikan/wire"
)

// errTimeOut is the cause of a command's end by its time-out.
var errTimeOut = errors.New("the command's time-out has passed")

// maxScript is how long a script may be: it is held in memory.
const maxScript = 16 << 20

// Run runs a command with sh in the office's files, its standard input empty.
//
// The command ends when its shell does. Then, or when ctx is done or the
// time-out has passed, every process that is left of it is killed, background
// jobs too, and Run returns when they are gone and all they had written has been
// handed on. Under Bubblewrap nothing gets away; with None a process that left
// the group by setsid(1) does.
//
// If Stdout and Stderr are the same writer it gets both in the order of writing.
// A writer that fails is as a closed pipe to the command. Run waits for a writer
// that blocks, even when ctx is done.
//
// An exit status of 128+n with a signal n that ends processes is reported as
// that signal, for so a shell and bwrap report one.
func (c *Computer) Run(ctx context.Context, cmd wire.Command) (wire.Exit, error) {
	exit, err := c.run(ctx, cmd)
	if err != nil {
		return wire.Exit{}, fmt.Errorf("run command: %w", err)
	}
	return exit, nil
}

func (c *Computer) run(ctx context.Context, cmd wire.Command) (wire.Exit, error) {
	if err := checkScript(cmd.Script); err != nil {
		return wire.Exit{}, err
	}
	if err := c.makeTemp(); err != nil {
		return wire.Exit{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cmp.Or(cmd.Timeout, c.timeout), errTimeOut)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return wire.Exit{}, err
	}

	out, err := openOutput(cmd.Stdout, cmd.Stderr)
	if err != nil {
		return wire.Exit{}, err
	}
	defer out.finish()

	// A child asks to be killed when the thread dies that forked it. Threads of
	// ours may end at any time, but for the one that is locked to a goroutine.
	var exit wire.Exit
	onThread(func() {
		var g *group
		if g, err = c.start(cmd.Script, out); err == nil {
			exit, err = g.wait(ctx)
		}
	})
	return exit, err
}

// start starts the command in the mode of the computer.
func (c *Computer) start(script string, out *output) (*group, error) {
	if c.mode == Bubblewrap {
		return c.startConfined(script, out)
	}
	var fds descriptors
	defer fds.close()
	shell, err := fds.shell(script)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(shell[0], shell[1:]...)
	cmd.Dir = c.files
	cmd.ExtraFiles = fds.files
	return startGroup(cmd, c.environment(), out)
}

// startGroup starts a process that leads a group of its own.
func startGroup(cmd *exec.Cmd, env []string, out *output) (*group, error) {
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = out.files()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	out.start()
	return &group{cmd: cmd, init: -1}, nil
}

// checkScript refuses what a shell does not take.
func checkScript(script string) error {
	if strings.IndexByte(script, 0) >= 0 {
		return errors.New("the script holds a NUL byte")
	}
	if len(script) > maxScript {
		return fmt.Errorf("the script has %d bytes, more than %d; write it to a file and run that", len(script), maxScript)
	}
	return nil
}
