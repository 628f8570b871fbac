package models

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mikan/harness"
)

// logins gives the access tokens of one auth.json and renews them. A refresh
// token is often good for one use only, and the file may be shared by several
// processes: so it is read, renewed and written under a lock beside the file.
type logins struct {
	file   string
	client *http.Client
	turn   chan struct{} // full while one is being renewed

	mu      sync.Mutex
	known   map[string]*login
	refused map[string]string // by provider, the refresh token that its server will not have
}

func newLogins(file string, client *http.Client, auth map[string]*credential) *logins {
	l := &logins{file: file, client: client, turn: make(chan struct{}, 1), known: map[string]*login{}, refused: map[string]string{}}
	for id, c := range auth {
		if c.login != nil {
			l.known[id] = c.login
		}
	}
	return l
}

// token returns an access token of a provider that can be used now. The error is
// ctx's or a [*harness.ModelError].
func (l *logins) token(ctx context.Context, id string) (string, error) {
	if token, ok := l.fresh(id); ok {
		return token, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token, ok := l.fresh(id); ok { // who had the turn has renewed it
		return token, nil
	}
	return l.renew(ctx, id)
}

func (l *logins) fresh(id string) (string, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := l.known[id]
	if have == nil || !have.fresh(time.Now()) {
		return "", false
	}
	return have.Access, true
}

// renew gets a token from the file, if another process has put one there, or
// from the token server.
func (l *logins) renew(ctx context.Context, id string) (string, error) {
	fail := func(err error) (string, error) { return "", l.failure(id, err) }
	file, err := openAuth(ctx, l.file)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return fail(err)
	}
	defer file.close()
	have, err := file.login(id)
	switch {
	case err != nil:
		return fail(err)
	case have.fresh(time.Now()):
		l.remember(id, have)
		return have.Access, nil
	case have.Refresh == "":
		return fail(fmt.Errorf("the login in %s has ended; log in again and put the new one there, or an \"api_key\"", l.file))
	case !have.renewable():
		return fail(fmt.Errorf("the login in %s has ended, and it needs a \"tokenUrl\" and a \"clientId\" to be renewed", l.file))
	case l.wasRefused(id, have.Refresh):
		return fail(l.refusal("as before"))
	}
	// From here on nothing stops it: an answer that nobody takes is a login lost.
	next, err := l.exchange(context.WithoutCancel(ctx), id, *have)
	if err != nil {
		return "", err
	}
	l.remember(id, &next)
	if err := file.replace(id, *have, next); err != nil {
		return fail(fmt.Errorf("the login was renewed, but cannot be kept: %w", err))
	}
	return next.Access, nil
}

func (l *logins) remember(id string, have *login) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known[id] = have
}

func (l *logins) wasRefused(id, refresh string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refused[id] == refresh
}

func (l *logins) refusal(reason string) error {
	return fmt.Errorf("the login in %s is no longer accepted (%s); log in again and put the new one there, or an \"api_key\"", l.file, reason)
}

// failure makes the error of a login that cannot be used.
func (*logins) failure(id string, err error) error {
	return &harness.ModelError{Trouble: harness.Denied, Text: id + ": " + err.Error(), Err: err}
}
