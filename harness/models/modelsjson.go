package models

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"mikan/harness"
	"mikan/harness/openai"
	"mikan/wire"
)

// modelsFile is models.json.
type modelsFile struct {
	Providers map[string]providerFile `json:"providers"`
}

type providerFile struct {
	BaseURL   string               `json:"baseUrl"`
	API       string               `json:"api"`
	APIKey    string               `json:"apiKey"`
	Headers   map[string]string    `json:"headers"`
	Compat    *compatFile          `json:"compat"`
	Models    []modelFile          `json:"models"`
	Overrides map[string]modelFile `json:"modelOverrides"`
}

type compatFile struct {
	Store     *bool  `json:"supportsStore"`
	Strict    *bool  `json:"supportsStrictMode"`
	Developer *bool  `json:"supportsDeveloperRole"`
	Effort    *bool  `json:"supportsReasoningEffort"`
	Usage     *bool  `json:"supportsUsageInStreaming"`
	MaxTokens string `json:"maxTokensField"`
}

type modelFile struct {
	ID            string             `json:"id"`
	Name          string             `json:"name"`
	API           string             `json:"api"` // empty: the provider's
	Reasoning     *bool              `json:"reasoning"`
	Levels        map[string]*string `json:"thinkingLevelMap"` // null: the level is not there
	Input         []string           `json:"input"`
	Cost          *costFile          `json:"cost"`
	ContextWindow *int               `json:"contextWindow"`
	MaxTokens     *int               `json:"maxTokens"`
	Headers       map[string]string  `json:"headers"`
}

type costFile struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

// readModels adds what models.json says to providers.
func readModels(name string, providers map[string]*provider) error {
	data, _, err := readFile(name)
	if err != nil || data == nil {
		return err
	}
	var file modelsFile
	if err := wire.DecodeJSON(name, data, &file); err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(file.Providers)) {
		reader := providerReader{name, data, []string{"providers", id}}
		p, err := reader.read(id, file.Providers[id], providers[id])
		if err != nil {
			return err
		}
		providers[id] = p
	}
	return nil
}

// providerReader reads one provider of a models.json.
type providerReader struct {
	file string
	data []byte
	path []string
}

func (r providerReader) fail(text string, path ...string) error {
	return complain(r.file, r.data, text, slices.Concat(r.path, path)...)
}

// read returns the provider that f makes of base, which may be nil.
func (r providerReader) read(id string, f providerFile, base *provider) (*provider, error) {
	p := &provider{id: id}
	if base != nil && !base.local {
		*p = *base
		p.models = slices.Clone(base.models)
	}
	if id == "" || id == "demo" || strings.Contains(id, "/") {
		return nil, r.fail(fmt.Sprintf("%q cannot be the name of a provider", id))
	}
	if err := r.address(p, f); err != nil {
		return nil, err
	}
	if f.APIKey != "" {
		p.key = f.APIKey
	}
	p.headers = merge(p.headers, f.Headers)
	if f.Compat != nil {
		if err := r.compat(&p.compat, *f.Compat); err != nil {
			return nil, err
		}
	}
	for i := range p.models {
		p.models[i].BaseURL, p.models[i].Caps = p.baseURL, capsAt(p.baseURL)
		if p.thinkAPI == "" {
			p.models[i].API = p.api
		}
		p.models[i].Headers = merge(f.Headers, p.models[i].Headers)
	}
	return p, r.models(p, f)
}

// address sets where the provider is and what it speaks.
func (r providerReader) address(p *provider, f providerFile) error {
	if err := r.api(f.API, "api"); err != nil {
		return err
	}
	if f.API != "" {
		p.api, p.thinkAPI = f.API, ""
	}
	if f.BaseURL != "" {
		u, err := url.Parse(f.BaseURL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return r.fail("baseUrl must be an http or https address", "baseUrl")
		}
		p.baseURL = f.BaseURL
		p.compat = openai.CompatOf(f.BaseURL)
		if p.compat != openai.Own() {
			p.thinkAPI = ""
		}
	}
	switch {
	case p.api == "":
		return r.fail("the provider " + p.id + " needs an api, such as \"openai-completions\"")
	case p.baseURL == "":
		return r.fail("the provider " + p.id + " needs a baseUrl")
	}
	return nil
}

// api checks the name of an API, which may be empty.
func (r providerReader) api(name string, at ...string) error {
	if _, known := apis[name]; name != "" && !known {
		return r.fail(fmt.Sprintf("unknown api %q%s", name, wire.DidYouMean(name, slices.Sorted(maps.Keys(apis)))), at...)
	}
	return nil
}

func (r providerReader) compat(c *openai.Compat, f compatFile) error {
	for _, set := range []struct {
		to    *bool
		from  *bool
		value bool // of to, if from is true
	}{
		{&c.Store, f.Store, true}, {&c.Strict, f.Strict, true}, {&c.DeveloperRole, f.Developer, true},
		{&c.NoEffort, f.Effort, false}, {&c.NoUsage, f.Usage, false},
	} {
		if set.from != nil {
			*set.to = *set.from == set.value
		}
	}
	switch f.MaxTokens {
	case "":
	case "max_tokens", "max_completion_tokens":
		c.MaxTokens = f.MaxTokens
	default:
		return r.fail("maxTokensField must be \"max_tokens\" or \"max_completion_tokens\"", "compat", "maxTokensField")
	}
	return nil
}

// models adds the declared models, and changes the ones that are overridden.
// What is declared wins over the catalogue.
func (r providerReader) models(p *provider, f providerFile) error {
	seen := map[string]bool{}
	for i, mf := range f.Models {
		at := []string{"models", fmt.Sprint(i)}
		switch {
		case mf.ID == "":
			return r.fail("a model needs an id", at...)
		case seen[mf.ID]:
			return r.fail("the model "+mf.ID+" is given twice", append(at, "id")...)
		}
		seen[mf.ID] = true
		m := harness.Model{
			Provider: p.id, ID: mf.ID, BaseURL: p.baseURL, Headers: p.headers,
			Window: defaultWindow, MaxTokens: defaultMaxTokens, Input: []string{"text"},
			Caps: capsAt(p.baseURL),
		}
		if err := r.model(&m, mf, at); err != nil {
			return err
		}
		if m.API == "" {
			m.API = p.apiOf(m.Reasons)
		}
		p.models = slices.DeleteFunc(p.models, func(old harness.Model) bool { return old.ID == m.ID })
		p.models = append(p.models, m)
	}
	for _, id := range slices.Sorted(maps.Keys(f.Overrides)) {
		i := slices.IndexFunc(p.models, func(m harness.Model) bool { return m.ID == id })
		switch at := []string{"modelOverrides", id}; {
		case f.Overrides[id].ID != "":
			return r.fail("an override cannot change the id", append(at, "id")...)
		case i < 0:
			return r.fail("the provider "+p.id+" has no model "+id+wire.DidYouMean(id, ids(p.models)), at...)
		default:
			if err := r.model(&p.models[i], f.Overrides[id], at); err != nil {
				return err
			}
		}
	}
	return nil
}

// model sets what f says of m.
func (r providerReader) model(m *harness.Model, f modelFile, at []string) error {
	fail := func(key, text string) error { return r.fail(text, append(slices.Clone(at), key)...) }
	if err := r.api(f.API, append(slices.Clone(at), "api")...); err != nil {
		return err
	}
	if f.API != "" {
		m.API = f.API
	}
	if f.Name != "" {
		m.Name = f.Name
	}
	if f.Reasoning != nil {
		m.Reasons = *f.Reasoning
	}
	if f.Levels != nil {
		m.Levels = map[string]string{}
	}
	for _, level := range slices.Sorted(maps.Keys(f.Levels)) {
		if !slices.Contains(harness.Levels, level) {
			return fail("thinkingLevelMap", fmt.Sprintf("unknown thinking level %q; the levels are %s", level, strings.Join(harness.Levels, ", ")))
		}
		if word := f.Levels[level]; word != nil {
			m.Levels[level] = *word
		}
	}
	if f.Input != nil {
		for _, kind := range f.Input {
			if kind != "text" && kind != "image" {
				return fail("input", fmt.Sprintf("unknown input %q; it is \"text\" or \"image\"", kind))
			}
		}
		m.Input = f.Input
	}
	if c := f.Cost; c != nil {
		m.Price = harness.Price{Input: c.Input, Output: c.Output, CacheRead: c.CacheRead, CacheWrite: c.CacheWrite}
	}
	for _, limit := range []struct {
		key  string
		from *int
		to   *int
	}{{"contextWindow", f.ContextWindow, &m.Window}, {"maxTokens", f.MaxTokens, &m.MaxTokens}} {
		if limit.from != nil && *limit.from <= 0 {
			return fail(limit.key, limit.key+" must be greater than 0")
		}
		if limit.from != nil {
			*limit.to = *limit.from
		}
	}
	if m.MaxTokens > m.Window {
		m.MaxTokens = m.Window
	}
	m.Headers = merge(m.Headers, f.Headers)
	return nil
}

func ids(models []harness.Model) []string {
	var out []string
	for _, m := range models {
		out = append(out, m.ID)
	}
	return out
}

// merge returns a with b over it.
func merge(a, b map[string]string) map[string]string {
	if len(a)+len(b) == 0 {
		return nil
	}
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
