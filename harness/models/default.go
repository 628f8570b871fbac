package models

import (
	"context"
	"fmt"
	"strings"

	"mikan/harness"
	"mikan/harness/demo"
)

// preferred are the providers that are looked at when nobody has said which.
var preferred = []string{"anthropic", "openai", "openrouter", "gemini", "deepseek"}

// Default returns the model to use and, in a few words, why: what the settings
// say; else the large model of the first provider that has a key; else one that
// a server on this machine has; else the demonstration.
func (r *Registry) Default(ctx context.Context, provider, model string) (m harness.Model, why string, err error) {
	return r.choose(provider, model, func() (harness.Model, string, bool) { return r.search(ctx) })
}

// Known is Default without asking the network: what was found on this machine
// the last time counts.
func (r *Registry) Known(provider, model string) (m harness.Model, why string, err error) {
	return r.choose(provider, model, r.firstFound)
}

func (r *Registry) choose(provider, model string, search func() (harness.Model, string, bool)) (m harness.Model, why string, err error) {
	if provider != "" || model != "" {
		m, err = r.chosen(provider, model, search)
		return m, "the settings say so", err
	}
	for _, id := range preferred {
		p := r.providers[id]
		if p == nil || len(p.models) == 0 {
			continue
		}
		switch c, inAuth := r.auth[id]; {
		case !r.hasKey(p):
		case inAuth && c.login != nil:
			return p.largeModel(), "auth.json has a login for " + id, nil
		case inAuth:
			return p.largeModel(), "auth.json has a key for " + id, nil
		case p.key != "":
			return p.largeModel(), "models.json has a key for " + id, nil
		default:
			return p.largeModel(), p.env + " is set", nil
		}
	}
	if m, why, ok := search(); ok {
		return m, why, nil
	}
	return demo.Model(), "no key is set and no server was found on this machine", nil
}

// chosen is the model that the settings name, by either half or both.
func (r *Registry) chosen(provider, model string, search func() (harness.Model, string, bool)) (harness.Model, error) {
	if provider == "" {
		id, rest, ok := strings.Cut(model, "/")
		if !ok {
			return harness.Model{}, fmt.Errorf("llm.model is %q; set llm.provider too%s", model, r.suggest(model))
		}
		return r.model(id, rest)
	}
	p := r.providers[provider]
	switch {
	case model != "" || p == nil:
		return r.model(provider, model)
	case len(p.models) > 0:
		return p.largeModel(), nil
	case p.local:
		search()
	}
	if found := r.foundAt(provider); len(found) > 0 {
		return found[0], nil
	}
	return harness.Model{}, fmt.Errorf("llm.provider is %s, of which no model is known; set llm.model too", provider)
}

// largeModel is the one that the catalogue prefers, else the first.
func (p *provider) largeModel() harness.Model {
	for _, m := range p.models {
		if m.ID == p.large {
			return m
		}
	}
	return p.models[0]
}
