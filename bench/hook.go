package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"time"

	"mikan/fs"
	"mikan/fs/serve"
)

// hookRow is the time from a question to its answer, asked of a client that
// serves the file over a Unix socket, beside a line that the same program echoes
// over one.
func hookRow(ctx context.Context, w *world) error {
	hook := &fs.Service{}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"hook": hook}}, me.UID, me.GID)
	root, hangUp, err := dialed(serveMikan, tree)
	if err != nil {
		return err
	}
	defer hangUp()
	served := make(chan error, 1)
	go func() {
		served <- serve.File(ctx, fs.NewClient(root), "hook", func(context.Context, *serve.Request) serve.Answer {
			return serve.OK(nil)
		}, serve.Options{})
	}()
	defer func() { hook.Close(); <-served }()
	for len(hook.Listeners()) == 0 {
		select {
		case err := <-served:
			served <- err
			return errors.Join(err, errors.New("the hook is not served"))
		case <-time.After(time.Millisecond):
		}
	}
	mine, theirs, err := pair()
	if err != nil {
		return err
	}
	defer mine.Close()
	defer theirs.Close()
	n, l, question := w.times(2000), hook.Listeners()[0], fs.Question{Line: json.RawMessage(`{"a":1}`)}
	d, err := duel(w.times(24),
		func() (time.Duration, error) {
			return timed(n, func() error { _, err := l.Ask(ctx, question); return err })
		},
		func() (time.Duration, error) { return echoes(mine, theirs, n) })
	if err != nil {
		return err
	}
	w.cost("hook round trip, over a Unix socket", "an echo", d, 3)
	return nil
}

// echoes is the time of one line that goes to the other end and comes back.
func echoes(mine, theirs net.Conn, n int) (time.Duration, error) {
	done := make(chan error, 1)
	go func() {
		in := bufio.NewReader(theirs)
		for range n {
			line, err := in.ReadSlice('\n')
			if err == nil {
				_, err = theirs.Write(line)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	in := bufio.NewReader(mine)
	d, err := timed(n, func() error {
		if _, err := io.WriteString(mine, "1 {\"a\":1}\n"); err != nil {
			return err
		}
		_, err := in.ReadSlice('\n')
		return err
	})
	return d, errors.Join(err, <-done)
}
