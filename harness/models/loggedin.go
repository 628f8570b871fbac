package models

import (
	"context"
	"errors"
	"sync"
	"time"

	"mikan/harness"
	"mikan/wire"
)

// loggedIn is a provider whose key is the access token of a login. The token is
// asked for at each call, since a session lives longer than one.
type loggedIn struct {
	token func(context.Context) (string, error)
	dial  func(token string) harness.Provider

	mu       sync.Mutex
	last     string // the token of provider
	provider harness.Provider
}

// Stream implements [harness.Provider].
func (p *loggedIn) Stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	token, err := p.token(ctx)
	if err != nil {
		return unanswered(req.Model, err), err
	}
	return p.with(token).Stream(ctx, req, emit)
}

// with returns the provider that uses a token.
func (p *loggedIn) with(token string) harness.Provider {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.provider == nil || p.last != token {
		p.last, p.provider = token, p.dial(token)
	}
	return p.provider
}

// unanswered is the message of a call that could not be made.
func unanswered(m harness.Model, err error) wire.Message {
	out := wire.Message{
		Role: wire.Assistant, API: m.API, Provider: m.Provider, Model: m.ID,
		Usage: &wire.Usage{}, StopReason: wire.StopError, ErrorMessage: err.Error(), Timestamp: time.Now().UnixMilli(),
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		out.StopReason, out.ErrorMessage = wire.StopAborted, ""
	}
	return out
}
