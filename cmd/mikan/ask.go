package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/wire"
)

type askCmd struct {
	socketFlags
	JSON    bool     `help:"Print the events of the run, one JSON object a line, in the place of the answer."`
	Session string   `help:"The session." default:"main" placeholder:"NAME"`
	Office  string   `arg:"" help:"The office: platform/conversation, or a conversation on the platform local."`
	Text    []string `arg:"" optional:"" help:"The prompt; without it, standard input."`
}

// Run asks. The exit status says how the run ended.
func (c *askCmd) Run(ctx context.Context, std *streams) error {
	text, err := textOr(ctx, c.Text, std.in)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		// Of nothing the daemon would hear nothing, and so not refuse it.
		return &exitError{exitRefused, errors.New("the prompt is empty")}
	}
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	events, err := client.Open(ctx, c.path("feed"), fs.Read)
	if err != nil {
		return refused(err)
	}
	defer events.Close()
	q, err := client.Open(ctx, c.path("ask"), fs.Read|fs.Write)
	if err != nil {
		return refused(err)
	}
	defer q.Close()
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(putGrace, cancel) })()
	id, err := put(sending, q, text)
	if err != nil {
		return refused(err)
	}
	return (&asking{c: c, client: client, id: id, ended: make(chan wire.Event, 1)}).wait(ctx, std.out, q, events)
}

// path is a file of the session.
func (c *askCmd) path(name string) string {
	office := strings.Trim(strings.TrimPrefix(strings.TrimPrefix(c.Office, "/"), "offices/"), "/")
	if !strings.Contains(office, "/") {
		office = runtime.Local + "/" + office
	}
	return "offices/" + office + "/sessions/" + c.Session + "/" + name
}

// refused is the error of a prompt that was not accepted.
func refused(err error) error {
	if errors.Is(err, fs.NotExist) {
		err = fmt.Errorf("%w; \"mikan ls offices/local\" lists the offices, and mkdir makes one", err)
	}
	return &exitError{exitRefused, err}
}

// putGrace is how long after an interrupt it may take to hear whether the prompt
// was accepted: if it was, its run must be stopped.
const putGrace = 5 * time.Second

// put writes the prompt and returns its number, which an open ask file has as
// its version.
func put(ctx context.Context, q *fs.File, text []byte) (id string, err error) {
	if _, err := q.WriteContext(ctx, text); err != nil {
		return "", err
	}
	if err := q.Sync(ctx); err != nil {
		return "", err
	}
	info, err := q.Stat(ctx)
	return strconv.FormatUint(uint64(info.Version), 10), err
}

// asking is a prompt that was accepted.
type asking struct {
	c       *askCmd
	client  *fs.Client
	id      string
	running atomic.Bool
	ended   chan wire.Event // gets the settlement
}

// settleWait is how long the settlement may take to come by the feed after the
// answer has ended.
const settleWait = 2 * time.Second

var errStillQueued = errors.New("interrupted; the prompt stays in the queue")

// wait prints the answer, or the events, until the run has ended. An interrupt
// stops the run, and then that is what is waited for; a prompt that still waits
// for its turn is left to it.
func (a *asking) wait(ctx context.Context, out io.Writer, q, events *fs.File) error {
	watch, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		if a.runs() {
			a.stop()
		} else {
			cancel(errStillQueued)
		}
	})()
	answer, lines := out, io.Writer(io.Discard)
	if a.c.JSON {
		answer, lines = lines, answer
	}
	followed := make(chan error, 1)
	go func() { followed <- a.follow(watch, events, lines) }()
	err := copyAll(watch, answer, q)
	if cause := context.Cause(watch); cause != nil {
		return cause
	}
	var ended *fs.Error // the answer's own end: the settlement says more
	if err != nil && !errors.As(err, &ended) {
		return err
	}
	e, err := a.settlement(watch, followed)
	if err != nil {
		return err
	}
	return result(e)
}

// feedLag is how far the feed, which tells that the run has begun, may be behind.
const feedLag = 500 * time.Millisecond

// runs reports whether the prompt's run has begun.
func (a *asking) runs() bool {
	for end := time.Now().Add(feedLag); !a.running.Load(); time.Sleep(feedLag / 50) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// settlement is how the run ended: by the feed or, if that has lost it, by the
// session's status.
func (a *asking) settlement(ctx context.Context, followed <-chan error) (wire.Event, error) {
	late := time.NewTimer(settleWait)
	defer late.Stop()
	select {
	case e := <-a.ended:
		return e, <-followed
	case err := <-followed:
		select {
		case e := <-a.ended:
			return e, err
		default:
			return wire.Event{}, errors.Join(err, errors.New("the daemon hung up before the run ended"))
		}
	case <-late.C:
	}
	data, err := a.client.ReadFile(ctx, a.c.path("status"))
	if err != nil {
		return wire.Event{}, err
	}
	var e wire.Event
	for line := range strings.Lines(string(data)) {
		switch key, value, _ := strings.Cut(strings.TrimSpace(line), " "); key {
		case "last":
			e.Outcome = wire.Outcome(value)
		case "error":
			e.Error = value
		}
	}
	return e, nil
}

// follow reads the feed up to the settlement of the prompt, and prints the
// events of that prompt. Its error is that of printing them.
func (a *asking) follow(ctx context.Context, events *fs.File, out io.Writer) error {
	lines := bufio.NewReader(contextReader{ctx, events})
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var e wire.Event
		if json.Unmarshal(line, &e) != nil || e.Prompt != a.id {
			continue
		}
		if e.Type == wire.Status {
			a.running.Store(e.State == "running")
		}
		if _, err := out.Write(line); err != nil {
			return err
		}
		if e.Type == wire.Settled {
			a.ended <- e
			return nil
		}
	}
}

// stop asks the daemon to end the run. Whether it can be told or not, the run's
// end is what is waited for.
func (a *asking) stop() {
	_ = a.client.WriteFile(context.Background(), a.c.path("ctl"), []byte("stop\n"))
}

// result is the exit status that an outcome has.
func result(e wire.Event) error {
	switch e.Outcome {
	case wire.OK:
		return nil
	case wire.Stopped:
		return &exitError{exitStopped, nil}
	case wire.OverBudget:
		return &exitError{exitBudget, errors.New(e.Error)}
	}
	return &exitError{exitFailed, errors.New(e.Error)}
}

// contextReader reads a file of the tree until ctx is done.
type contextReader struct {
	ctx context.Context
	f   *fs.File
}

func (r contextReader) Read(p []byte) (int, error) { return r.f.ReadContext(r.ctx, p) }
