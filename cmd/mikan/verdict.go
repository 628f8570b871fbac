package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"mikan/fs/serve"
)

// The bounds of a hook's command.
const (
	maxVerdict  = 16 << 20
	hookLinger  = time.Second // for what the command leaves behind on its output
	exitDenied  = 2
	maxHookText = 4 << 10 // of a reason
)

// verdict runs the command on one request: 0 without output allows, 0 with JSON
// replaces, 2 denies with what the command says on its standard error as the
// reason, and anything else is an error. What the command has started does not
// outlive it.
func verdict(ctx context.Context, command []string, request json.RawMessage) (serve.Answer, error) {
	// The signal is sent when the thread ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(request, '\n'))
	var out, reason capped
	out.max, reason.max = maxVerdict, maxHookText
	cmd.Stdout, cmd.Stderr = &out, &reason
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = hookLinger
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nothing is left
	}
	var exit *exec.ExitError
	switch text := bytes.TrimSpace(out.buf.Bytes()); {
	case errors.As(err, &exit) && exit.ExitCode() == exitDenied:
		return serve.Deny(oneLine(reason.buf.String())), nil
	case err != nil:
		return serve.Answer{}, fmt.Errorf("%s: %w: %s", command[0], err, oneLine(reason.buf.String()))
	case out.over:
		return serve.Answer{}, fmt.Errorf("%s: more than %d bytes of output", command[0], maxVerdict)
	case len(text) == 0:
		return serve.Allow(), nil
	case !json.Valid(text):
		return serve.Answer{}, fmt.Errorf("%s: its output is not JSON: %.100q", command[0], text)
	default:
		return serve.Replace(json.RawMessage(text)), nil
	}
}

// oneLine is text as it can stand in an answer.
func oneLine(text string) string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
}

// capped keeps the beginning of what is written to it.
type capped struct {
	buf  bytes.Buffer
	max  int
	over bool
}

func (c *capped) Write(p []byte) (int, error) {
	room := max(c.max-c.buf.Len(), 0)
	c.over = c.over || len(p) > room
	c.buf.Write(p[:min(len(p), room)])
	return len(p), nil
}

var _ io.Writer = (*capped)(nil)
