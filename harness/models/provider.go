package models

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/demo"
	"mikan/harness/openai"
	"mikan/harness/responses"
)

// Provider returns the provider for a model that the registry gave, with its
// key, which may mean to run a command. Without a key the error says where to
// put one.
func (r *Registry) Provider(ctx context.Context, m harness.Model) (harness.Provider, error) {
	p := r.providers[m.Provider]
	switch {
	case p == nil:
		return nil, fmt.Errorf("no provider %q", m.Provider)
	case m.API == demo.Model().API:
		return demo.Provider{}, nil
	case !apis[m.API]:
		return nil, fmt.Errorf("the model %s has the api %q, which is not supported yet", m, m.API)
	}
	headers := map[string]string{}
	for name, expr := range m.Headers {
		value, err := r.keys.resolve(ctx, expr, nil)
		if err != nil {
			return nil, fmt.Errorf("the header %s of %s: %w", name, p.id, err)
		}
		headers[name] = value
	}
	if c := r.auth[p.id]; c != nil && c.login != nil {
		return &loggedIn{
			token: func(ctx context.Context) (string, error) { return r.logins.token(ctx, p.id) },
			dial:  func(token string) harness.Provider { return r.dial(p, m, headers, "", token) },
		}, nil
	}
	key, err := r.key(ctx, p)
	if err != nil {
		return nil, err
	}
	return r.dial(p, m, headers, key, ""), nil
}

// dial makes the provider for a model, with a key or with the token of a login.
func (r *Registry) dial(p *provider, m harness.Model, headers map[string]string, key, token string) harness.Provider {
	switch m.API {
	case anthropic.API:
		return anthropic.New(anthropic.Options{BaseURL: m.BaseURL, Key: key, Token: token, Headers: headers, Client: r.client})
	case responses.API:
		return responses.New(responses.Options{BaseURL: m.BaseURL, Key: key + token, Headers: headers, Client: r.client})
	}
	return openai.New(openai.Options{BaseURL: m.BaseURL, Key: key + token, Headers: headers, Compat: p.compat, Client: r.client})
}

// key finds the key of p: in auth.json, in models.json, in the environment. A
// provider that was declared without one needs none.
func (r *Registry) key(ctx context.Context, p *provider) (string, error) {
	c, have := r.auth[p.id]
	expr, more, where := p.key, map[string]string(nil), "models.json"
	switch {
	case have:
		expr, more, where = c.Key, c.Env, "auth.json"
	case expr != "":
	case p.env == "":
		return "", nil
	case r.env(p.env) == "":
		return "", fmt.Errorf("no key for %s: set %s, or put one into %s", p.id, p.env, filepath.Join(r.stateDir, "auth.json"))
	default:
		expr, where = "${"+p.env+"}", p.env
	}
	key, err := r.keys.resolve(ctx, expr, more)
	if err != nil {
		return "", fmt.Errorf("the key of %s in %s: %w", p.id, where, err)
	}
	return key, nil
}

// Ready reports whether a model can be called as far as is known without
// asking anyone: it has a key, needs none, or was found on this machine.
func (r *Registry) Ready(m harness.Model) bool {
	p := r.providers[m.Provider]
	switch {
	case p == nil:
		return false
	case m.API == demo.Model().API:
		return true
	case p.local:
		return len(r.foundAt(p.id)) > 0
	}
	return apis[m.API] && r.hasKey(p)
}

// hasKey reports whether p has a key or needs none, without running a command.
func (r *Registry) hasKey(p *provider) bool {
	expr, more := p.key, map[string]string(nil)
	if c, ok := r.auth[p.id]; ok {
		if c.login != nil {
			return c.login.renewable() || c.login.fresh(time.Now())
		}
		expr, more = c.Key, c.Env
	}
	switch {
	case expr == "":
		return p.env == "" || r.env(p.env) != ""
	case strings.HasPrefix(expr, "!"):
		return true
	}
	for _, name := range variables(expr) {
		if more[name] == "" && r.env(name) == "" {
			return false
		}
	}
	return true
}
