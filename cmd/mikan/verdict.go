package main

import (
	"bytes"
	"cmp"
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

// The bounds of a command that answers a request.
const (
	maxAnswer     = 16 << 20
	commandLinger = time.Second // for what the command leaves behind on its output
	exitDenied    = 2
	maxReason     = 4 << 10
)

// verdict is what a command says to a hook's request: 0 without output allows, 0
// with JSON replaces, 2 denies with what the command says on its standard error
// as the reason, and anything else is an error.
func verdict(ctx context.Context, command []string, request json.RawMessage) (serve.Answer, error) {
	text, reason, err := handle(ctx, command, request)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitDenied:
		return serve.Deny(reason), nil
	case err != nil:
		return serve.Answer{}, fmt.Errorf("%s: %w: %s", command[0], err, reason)
	case len(text) == 0:
		return serve.Allow(), nil
	case !json.Valid(text):
		return serve.Answer{}, fmt.Errorf("%s: its output is not JSON: %.100q", command[0], text)
	}
	return serve.Replace(json.RawMessage(text)), nil
}

// outcome is what a command says to a tool's call: 0 is done, with its output,
// JSON or text; anything else is an error, with what it says on its standard
// error as the text.
func outcome(ctx context.Context, command []string, request json.RawMessage) (serve.Answer, error) {
	text, reason, err := handle(ctx, command, request)
	switch {
	case err != nil:
		return serve.Error(errors.New(cmp.Or(reason, err.Error()))), nil
	case len(text) == 0:
		return serve.OK(nil), nil
	case json.Valid(text):
		return serve.OK(json.RawMessage(text)), nil
	}
	return serve.OK(string(text)), nil
}

// errTooMuch is why the output of a command is no answer.
var errTooMuch = fmt.Errorf("more than %d bytes of output", maxAnswer)

// handle runs the command on one request, and returns what it says on its
// standard output, and on its standard error as one line. What the command has
// started does not outlive it.
func handle(ctx context.Context, command []string, request json.RawMessage) (text []byte, reason string, err error) {
	// The signal is sent when the thread ends, not the process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(request, '\n'))
	out, said := capped{max: maxAnswer}, capped{max: maxReason}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = commandLinger
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most often nothing is left
	}
	if err == nil && out.over {
		err = errTooMuch
	}
	return bytes.TrimSpace(out.buf.Bytes()), oneLine(said.buf.String()), err
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
