package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// Find returns the model that "provider/model" names, and the thinking level
// after a last colon, or "" if there is none. Model ids may have colons and
// slashes themselves.
func (r *Registry) Find(ref string) (m harness.Model, level string, err error) {
	id, id2, ok := strings.Cut(ref, "/")
	if !ok {
		return harness.Model{}, "", fmt.Errorf("%q is no model; write provider/model%s", ref, r.suggest(ref))
	}
	if m, err = r.model(id, id2); err == nil {
		return m, "", nil
	}
	if i := strings.LastIndex(id2, ":"); i >= 0 && slices.Contains(harness.Levels, id2[i+1:]) {
		m, err = r.model(id, id2[:i])
		level = id2[i+1:]
	}
	if err != nil {
		return harness.Model{}, "", err
	}
	return m, level, nil
}

// suggest names a model whose id is like word.
func (r *Registry) suggest(word string) string {
	var usable []string
	for _, m := range r.List() {
		if m.ID == word && r.Ready(m) {
			return " (did you mean " + m.String() + "?)"
		}
		if r.Ready(m) {
			usable = append(usable, m.String())
		}
	}
	return wire.DidYouMean(word, usable)
}

// model returns the model of a provider.
func (r *Registry) model(providerID, id string) (harness.Model, error) {
	p := r.providers[providerID]
	if p == nil {
		return harness.Model{}, fmt.Errorf("no provider %q%s", providerID, wire.DidYouMean(providerID, slices.Sorted(maps.Keys(r.providers))))
	}
	known := append(slices.Clip(p.models), r.foundAt(providerID)...)
	if i := slices.IndexFunc(known, func(m harness.Model) bool { return m.ID == id }); i >= 0 {
		return known[i], nil
	}
	if p.local && id != "" { // the server knows what it has
		return p.localModel(id, 0), nil
	}
	return harness.Model{}, fmt.Errorf("the provider %s has no model %q%s", providerID, id, near(id, ids(known)))
}

// near suggests the id that was most likely meant, or one that has the word in
// it.
func near(word string, ids []string) string {
	if s := wire.DidYouMean(word, ids); s != "" || word == "" {
		return s
	}
	for _, id := range ids {
		if strings.Contains(id, word) {
			return " (did you mean " + id + "?)"
		}
	}
	return ""
}
