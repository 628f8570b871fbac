package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mikan/harness"
)

// maxReport is how long a report of progress is at most.
const maxReport = 1 << 10

// runner calls a tool of the server.
func (s *server) runner(name string, c harness.Computer) func(context.Context, json.RawMessage, func(string)) (harness.Result, error) {
	return func(ctx context.Context, args json.RawMessage, progress func(string)) (harness.Result, error) {
		r, err := s.call(ctx, name, args, progress)
		if err != nil {
			return harness.Result{}, fmt.Errorf("the MCP server %s: %s", s.Name, s.secrets.line(err.Error()))
		}
		k := keeper{ctx: ctx, computer: c, secrets: s.secrets}
		k.add(r)
		if r.IsError {
			err = errors.New("the tool reports an error")
		}
		return k.result(), err
	}
}

// call calls a tool and waits for its result, for at most [Options.Call]. If ctx
// is done first, the server is told that nobody waits.
func (s *server) call(ctx context.Context, name string, args json.RawMessage, progress func(string)) (*sdk.CallToolResult, error) {
	l, err := s.there(ctx)
	if err != nil {
		return nil, err
	}
	token, forget := l.expect(func(text string) { progress(clip(s.secrets.hideIn(text), maxReport)) })
	defer forget()
	limited, cancel := context.WithTimeout(ctx, s.opt.Call)
	defer cancel()
	r, err := unharmed(func() (*sdk.CallToolResult, error) {
		return l.session.CallTool(limited, &sdk.CallToolParams{
			Name: name, Arguments: args, Meta: sdk.Meta{"progressToken": token},
		})
	})
	switch {
	case err == nil:
		return r, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case limited.Err() != nil:
		return nil, fmt.Errorf("it has not answered the call for %v", s.opt.Call)
	}
	return nil, l.explain(err)
}

// endGrace is how long the end of a connection may take to be known after a call
// on it has failed.
const endGrace = 250 * time.Millisecond

// explain is the error of a call, in plain words if it is that the server ended.
func (l *link) explain(err error) error {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) {
		return err // the server's own
	}
	select {
	case <-l.ended:
		return errors.New("it ended during the call; what the call did until then is not known")
	case <-time.After(endGrace):
		return err
	}
}

// there waits until the server is there.
func (s *server) there(ctx context.Context) (*link, error) {
	start, cancel := context.WithTimeout(ctx, s.opt.Start)
	defer cancel()
	if l := s.await(start); l != nil {
		return l, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == "" {
		return nil, fmt.Errorf("it is not there (%s)", s.state)
	}
	return nil, errors.New(s.why)
}
