package models

import (
	"slices"
	"strings"
	"sync"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/openai"
	"mikan/harness/responses"
)

// What a model has that does not say.
const (
	defaultWindow    = 128_000
	defaultMaxTokens = 16_384
)

// addresses are those that the catalogue leaves to a variable.
var addresses = map[string]string{
	"anthropic": "https://api.anthropic.com",
	"openai":    "https://api.openai.com/v1",
	"gemini":    "https://generativelanguage.googleapis.com/v1beta/openai/", // the compatible one
}

// catalogue returns the providers of the embedded catalogue that speak one of
// our protocols and take a key. It is read once, and its result is not changed.
var catalogue = sync.OnceValue(readCatalogue)

func readCatalogue() map[string]*provider {
	out := map[string]*provider{}
	for _, c := range embedded.GetAll() {
		id := string(c.ID)
		p := &provider{id: id, large: c.DefaultLargeModelID, baseURL: c.APIEndpoint}
		switch c.Type {
		case catwalk.TypeAnthropic:
			p.api = anthropic.API
		case catwalk.TypeOpenAI, catwalk.TypeOpenAICompat, catwalk.TypeOpenRouter, catwalk.TypeVercel, catwalk.TypeGoogle:
			p.api = openai.API
		default:
			continue
		}
		if a := addresses[id]; a != "" {
			p.baseURL = a
		}
		env, ok := strings.CutPrefix(c.APIKey, "$")
		if !ok || strings.HasPrefix(p.baseURL, "$") || p.baseURL == "" {
			continue
		}
		if id == "openai" { // others have its Chat Completions at most
			p.thinkAPI = responses.API
		}
		p.env = env
		p.compat = openai.CompatOf(p.baseURL)
		for _, m := range c.Models {
			p.models = append(p.models, fromCatalogue(p, m))
		}
		out[id] = p
	}
	return out
}

func fromCatalogue(p *provider, m catwalk.Model) harness.Model {
	out := harness.Model{
		Provider: p.id, ID: m.ID, Name: m.Name, API: p.apiOf(m.CanReason), BaseURL: p.baseURL,
		Window: int(m.ContextWindow), MaxTokens: int(m.DefaultMaxTokens),
		Input: []string{"text"}, Reasons: m.CanReason, Levels: levels(p.api, m.ReasoningLevels),
		Price: price(m), Caps: capsAt(p.baseURL),
	}
	if out.Window <= 0 {
		out.Window = defaultWindow
	}
	if out.MaxTokens <= 0 {
		out.MaxTokens = defaultMaxTokens
	}
	if m.SupportsImages {
		out.Input = append(out.Input, "image")
	}
	return out
}

// price reads the catalogue's two prices for cached tokens, which its providers
// give in either order: reading from a cache costs less than a new token and
// writing to it the same or somewhat more. A price that is not known counts as
// that of a new token.
func price(m catwalk.Model) harness.Price {
	p := harness.Price{Input: m.CostPer1MIn, Output: m.CostPer1MOut, CacheRead: m.CostPer1MIn, CacheWrite: m.CostPer1MIn}
	for _, cached := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
		switch {
		case cached > 0 && cached < p.CacheRead:
			p.CacheRead = cached
		case cached > p.CacheWrite && cached <= 2*p.Input:
			p.CacheWrite = cached
		}
	}
	return p
}

// levels maps our thinking levels to the nearest words that a model knows, the
// weaker one if in doubt.
func levels(api string, words []string) map[string]string {
	if api == anthropic.API && !slices.Contains(words, "max") {
		return nil // knows no adaptive thinking, and takes a number of tokens
	}
	out := map[string]string{}
	if slices.Contains(words, "none") {
		out["off"] = "none"
	}
	best := ""
	for _, level := range harness.Levels[1:] {
		if slices.Contains(words, level) {
			best = level
		}
		out[level] = best
	}
	// Below the weakest word there is only the weakest.
	for _, level := range slices.Backward(harness.Levels[1:]) {
		if out[level] != "" {
			best = out[level]
		} else if best != "" {
			out[level] = best
		}
	}
	if best == "" {
		return nil
	}
	return out
}
