package models

import (
	"cmp"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/demo"
	"mikan/harness/openai"
	"mikan/harness/protocol"
	"mikan/harness/responses"
)

// Options are what a registry needs to know of the outside.
type Options struct {
	StateDir string
	Env      func(string) string // os.Getenv, or a test's
	// Ollama and Local are the addresses where a server on this machine is looked
	// for; empty: http://127.0.0.1:11434 and http://127.0.0.1:8080.
	Ollama, Local string
}

// Registry knows the models. It may be used by several goroutines.
type Registry struct {
	stateDir  string
	env       func(string) string
	keys      *resolver
	client    *http.Client
	providers map[string]*provider
	auth      map[string]*credential
	logins    *logins

	searching chan struct{} // full while a search goes on
	searched  time.Time     // when the last one ended; of who searches

	mu    sync.Mutex
	found map[string][]harness.Model // on this machine, by provider
}

// provider is a server and its models. It does not change once it is in a
// registry.
type provider struct {
	id       string
	api      string
	thinkAPI string // of the models that reason, if that is another
	baseURL  string
	env      string // the variable that holds the key; may be empty
	key      string // as models.json gives it; may be empty
	headers  map[string]string
	compat   openai.Compat
	large    string // the model to take if none is named; may be empty
	local    bool   // on this machine; its models are whatever it has
	models   []harness.Model
}

// Load reads the catalogue, models.json and auth.json. A file that is absent
// counts as empty; none is created.
func Load(o Options) (*Registry, error) {
	r := &Registry{
		stateDir:  o.StateDir,
		env:       o.Env,
		keys:      newResolver(o.Env),
		client:    protocol.NewClient(),
		providers: maps.Clone(catalogue()),
		searching: make(chan struct{}, 1),
		found:     map[string][]harness.Model{},
	}
	r.providers["ollama"] = local("ollama", cmp.Or(o.Ollama, "http://127.0.0.1:11434"))
	r.providers["local"] = local("local", cmp.Or(o.Local, "http://127.0.0.1:8080"))
	r.providers["demo"] = &provider{id: "demo", api: demo.Model().API, models: []harness.Model{demo.Model()}}
	var err error
	if err = readModels(filepath.Join(o.StateDir, "models.json"), r.providers); err != nil {
		return nil, err
	}
	authName := filepath.Join(o.StateDir, "auth.json")
	if r.auth, err = readAuth(authName); err != nil {
		return nil, err
	}
	r.logins = newLogins(authName, r.client, r.auth)
	return r, nil
}

// Close gives back the connections to servers. What is running keeps its own.
func (r *Registry) Close() { r.client.CloseIdleConnections() }

// apiOf is what p speaks with a model that reasons, or does not.
func (p *provider) apiOf(reasons bool) string {
	if reasons && p.thinkAPI != "" {
		return p.thinkAPI
	}
	return p.api
}

// local is the provider for a server on this machine, at an address without /v1.
func local(id, address string) *provider {
	return &provider{id: id, api: openai.API, baseURL: address + "/v1", local: true}
}

// List returns all models, by provider and id. [Registry.Ready] says which of
// them can be used.
func (r *Registry) List() []harness.Model {
	var all []harness.Model
	for id, p := range r.providers {
		all = append(all, p.models...)
		all = append(all, r.foundAt(id)...)
	}
	slices.SortFunc(all, func(a, b harness.Model) int {
		return cmp.Or(cmp.Compare(a.Provider, b.Provider), cmp.Compare(a.ID, b.ID))
	})
	return all
}

func (r *Registry) foundAt(provider string) []harness.Model {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found[provider]
}

// apis are the kinds of servers that a models.json may name; the ones that are
// false cannot be used yet.
var apis = map[string]bool{
	openai.API:                true,
	anthropic.API:             true,
	responses.API:             true,
	"google-generative-ai":    false,
	"bedrock-converse-stream": false,
}
