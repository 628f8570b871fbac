package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"mikan/fs"
	"mikan/fs/serve"
	"mikan/runtime"
)

// answering is how a service file is served by a command.
type answering struct {
	socketFlags
	Concurrency int `help:"How many requests are handled at once." default:"1" placeholder:"N"`
}

// speaker makes an answer of what a command does with a request.
type speaker func(ctx context.Context, command []string, request json.RawMessage) (serve.Answer, error)

// with serves a file with a command for each request, which is killed when the
// request no longer waits for an answer.
func (c *answering) with(ctx context.Context, std *streams, path string, command []string, say speaker) error {
	if len(command) > 0 && command[0] == "--" {
		command = command[1:]
	}
	if len(command) == 0 {
		return &exitError{exitUsage, errors.New("a command is needed, after --")}
	}
	client, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	err = serve.File(ctx, client, path, func(ctx context.Context, r *serve.Request) serve.Answer {
		ctx, stop := untilSettled(ctx, client, r.BodyName())
		defer stop()
		answer, err := answer(ctx, command, r, say)
		if err != nil {
			fmt.Fprintf(std.err, "mikan: request %d: no answer: %v\n", r.Tag, err)
		}
		return answer
	}, serve.Options{Concurrency: c.Concurrency, Refused: func(r *serve.Request, err error) {
		fmt.Fprintf(std.err, "mikan: request %d: %v\n", r.Tag, err)
	}})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// inOffice is the file that a name stands for, in the directory dir of an office.
func inOffice(what, name, dir, example string) (string, error) {
	parts := strings.Split(strings.TrimPrefix(strings.Trim(name, "/"), "offices/"), "/")
	if len(parts) == 4 && parts[2] == dir {
		parts = []string{parts[0], parts[1], parts[3]}
	}
	if len(parts) == 2 {
		parts = append([]string{runtime.Local}, parts...)
	}
	if len(parts) != 3 {
		return "", fmt.Errorf("%s %q: want platform/conversation/%[1]s, for example local/demo/%[3]s", what, name, example)
	}
	return "offices/" + parts[0] + "/" + parts[1] + "/" + dir + "/" + parts[2], nil
}

// errSettled ends a command whose question was settled without it.
var errSettled = errors.New("the question was settled: too late, or withdrawn")

// settledPoll is how often a question that a command works on is looked at.
const settledPoll = 200 * time.Millisecond

// untilSettled gives a context that ends with ctx, and soon after the request
// whose body is there by that name was settled: nothing else tells its holder.
// If it is by now, as one that has waited for others may be, the context has
// ended. stop ends it, and must be called.
func untilSettled(ctx context.Context, client *fs.Client, body string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	look := func() {
		if _, err := client.Stat(ctx, body); errors.Is(err, fs.NotExist) {
			cancel(errSettled)
		}
	}
	look()
	done := make(chan struct{})
	go func() {
		defer close(done)
		again := time.NewTicker(settledPoll)
		defer again.Stop()
		for ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-again.C:
				look()
			}
		}
	}()
	return ctx, func() { cancel(context.Canceled); <-done }
}

// answer is what the command says to a request.
func answer(ctx context.Context, command []string, r *serve.Request, say speaker) (serve.Answer, error) {
	if ctx.Err() != nil {
		return serve.Answer{}, context.Cause(ctx)
	}
	request, err := r.Content(ctx)
	if err != nil {
		return serve.Answer{}, err
	}
	a, err := say(ctx, command, request)
	if ctx.Err() != nil {
		return serve.Answer{}, context.Cause(ctx)
	}
	return a, err
}
