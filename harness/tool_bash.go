package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"time"

	"mikan/wire"
)

const bashSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"command":{"type":"string","description":"The shell command"},` +
	`"timeout":{"type":"number","description":"Seconds after which the command is killed; 600 if not given"}},` +
	`"required":["label","command"],"additionalProperties":false}`

func bashTool(c Computer) Tool {
	return Tool{
		ToolSpec: ToolSpec{
			Name: "bash",
			Description: "Run a shell command (sh -c) in the working directory. The result is its standard output, then its standard error, " +
				"cut to the last 2000 lines or 50 KB; the whole is then in the file that the result names. " +
				"When the command ends, what it started in the background is killed.",
			Schema: json.RawMessage(bashSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, progress func(string)) (Result, error) {
			return bash(ctx, c, args, progress)
		},
	}
}

func bash(ctx context.Context, c Computer, args json.RawMessage, progress func(string)) (Result, error) {
	var a struct {
		Command string `json:"command"`
		Timeout number `json:"timeout"`
	}
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	if err := present("command", a.Command); err != nil {
		return Result{}, err
	}
	timeout := seconds(a.Timeout)
	o := &output{all: spill{ctx: ctx, computer: c, name: path.Join(c.Dir(), ".mikan/bash-output", outputID()+".log")}}
	stdout, stderr := o.writer(&o.stdout), o.writer(&o.stderr)
	stop := report(o, progress)
	exit, err := c.Run(ctx, Command{Script: a.Command, Timeout: timeout, Stdout: stdout, Stderr: stderr})
	stop()
	stdout.flush()
	stderr.flush()
	text, some := o.text()
	if err != nil && !some {
		return Result{}, err
	}
	if err == nil {
		err = verdict(ctx, exit, timeout)
	}
	return Result{Content: []wire.Part{wire.TextPart(text)}}, err
}

// failed says how a command failed, in the words that models know.
type failed string

func (f failed) Error() string { return string(f) }

// verdict is the error of a command that did not succeed.
func verdict(ctx context.Context, e Exit, timeout time.Duration) error {
	switch {
	case e == Exit{}:
		return nil
	case e.TimedOut && timeout > 0:
		return failed(fmt.Sprintf("Command timed out after %v and was killed", timeout))
	case e.TimedOut:
		return failed("Command timed out and was killed; give a longer timeout if it needs one")
	case ctx.Err() != nil:
		return failed("Command was " + endedBy(ctx))
	case e.Signal != "":
		return failed(fmt.Sprintf("Command was ended by a signal (%s), code %d", e.Signal, e.Code))
	}
	return failed(fmt.Sprintf("Command exited with code %d", e.Code))
}

// maxTimeout is the longest time-out that a model can ask for.
const maxTimeout = 24 * time.Hour

// seconds is a time-out of so many seconds, or 0, the computer's default.
func seconds(n number) time.Duration {
	if n <= 0 {
		return 0
	}
	s := math.Min(float64(n), maxTimeout.Seconds())
	return max(time.Duration(s*float64(time.Second)), time.Millisecond)
}

// reportEvery is the time between two reports of progress.
const reportEvery = 250 * time.Millisecond

// report passes on what comes in o until the returned function has returned.
func report(o *output, progress func(string)) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
				if s := o.unreported(); s != "" {
					progress(s)
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}

// outputID names the file of one output.
func outputID() string {
	b := make([]byte, 8)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
