package models

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"mikan/harness"
)

const (
	searchTime  = 300 * time.Millisecond
	searchAgain = 30 * time.Second // until then what was found counts
	localWindow = 32_768           // of a local model that does not say; they are often set up small
)

// search asks the servers of this machine for their models, at the same time,
// and returns the first model that can chat. What they have is remembered, so
// that whoever asks often does not ask the network; who asks meanwhile waits.
func (r *Registry) search(ctx context.Context) (m harness.Model, why string, ok bool) {
	select {
	case r.searching <- struct{}{}:
		defer func() { <-r.searching }()
	case <-ctx.Done():
		return r.firstFound()
	}
	if time.Since(r.searched) < searchAgain {
		return r.firstFound()
	}
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var asked sync.WaitGroup
	for _, id := range []string{"ollama", "local"} {
		if p := r.providers[id]; p.local {
			asked.Go(func() { r.remember(id, p.ask(limited, r.client)) })
		}
	}
	asked.Wait()
	if ctx.Err() == nil { // else nobody had the time to answer
		r.searched = time.Now()
	}
	return r.firstFound()
}

func (r *Registry) firstFound() (m harness.Model, why string, ok bool) {
	for _, id := range []string{"ollama", "local"} {
		if models := r.foundAt(id); len(models) > 0 {
			return models[0], "a server answers at " + host(models[0].BaseURL), true
		}
	}
	return harness.Model{}, "", false
}

func (r *Registry) remember(id string, models []harness.Model) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found[id] = models
}

func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

// ask returns the models of a server, none if it does not answer in time.
func (p *provider) ask(ctx context.Context, client *http.Client) []harness.Model {
	if p.id == "ollama" {
		return p.askOllama(ctx, client)
	}
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Window int    `json:"max_model_len"` // vLLM
			Meta   struct {
				Window int `json:"n_ctx"` // llama.cpp
			} `json:"meta"`
		} `json:"data"`
	}
	if err := get(ctx, client, p.baseURL+"/models", &list); err != nil {
		return nil // no server there is the usual case
	}
	var models []harness.Model
	for _, m := range list.Data {
		if chats(m.ID) {
			models = append(models, p.localModel(m.ID, max(m.Window, m.Meta.Window)))
		}
	}
	return models
}

// askOllama uses Ollama's own list, which does not say how long a context the
// server is set up for.
func (p *provider) askOllama(ctx context.Context, client *http.Client) []harness.Model {
	var list struct {
		Models []struct {
			Name string `json:"name"`
		} `json:"models"`
	}
	if err := get(ctx, client, strings.TrimSuffix(p.baseURL, "/v1")+"/api/tags", &list); err != nil {
		return nil
	}
	var models []harness.Model
	for _, m := range list.Models {
		if chats(m.Name) {
			models = append(models, p.localModel(m.Name, 0))
		}
	}
	return models
}

// chats reports whether a model of that name can be talked to.
func chats(name string) bool { return name != "" && !strings.Contains(strings.ToLower(name), "embed") }

func get(ctx context.Context, client *http.Client, address string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", res.StatusCode)
	}
	return json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(into)
}

// localModel is a model of a server on this machine.
func (p *provider) localModel(id string, window int) harness.Model {
	if window <= 0 {
		window = localWindow
	}
	return harness.Model{Provider: p.id, ID: id, Name: id, API: p.api, BaseURL: p.baseURL,
		Window: window, MaxTokens: min(defaultMaxTokens, window/2), Input: []string{"text"}}
}
