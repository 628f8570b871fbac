package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"mikan/wire"
)

// credential is one entry of auth.json.
type credential struct {
	Type string            `json:"type"` // api_key; oauth has a login instead of the rest
	Key  string            `json:"key"`
	Env  map[string]string `json:"env"` // variables for the key, before the environment's

	login *login
}

// String keeps the key out of whatever prints a credential. Behind a pointer it
// stays out of what holds one, too.
func (c *credential) String() string { return "credential of type " + c.Type }

// GoString is String.
func (c *credential) GoString() string { return c.String() }

// readAuth reads auth.json, which nobody else may be able to read.
func readAuth(name string) (map[string]*credential, error) {
	data, info, err := readFile(name)
	if err != nil || data == nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, and it holds keys; chmod 600 %s", name, info.Mode().Perm(), name)
	}
	return parseAuth(name, data)
}

// parseAuth reads the text of an auth.json.
func parseAuth(name string, data []byte) (map[string]*credential, error) {
	var entries map[string]json.RawMessage
	if err := wire.DecodeJSON(name, data, &entries); err != nil {
		return nil, err
	}
	out := map[string]*credential{}
	for _, id := range slices.Sorted(maps.Keys(entries)) {
		c, err := readCredential(name, data, id, entries[id])
		if err != nil {
			return nil, err
		}
		out[id] = c
	}
	return out, nil
}

func readCredential(name string, data []byte, id string, entry json.RawMessage) (*credential, error) {
	fail := func(text string, key ...string) (*credential, error) {
		return nil, complain(name, data, text, append([]string{id}, key...)...)
	}
	var kind struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(entry, &kind) != nil {
		return fail("want an object like {\"type\": \"api_key\", \"key\": …}")
	}
	var c credential
	switch kind.Type {
	case "oauth":
		l, why, key := readLogin(id, entry)
		if why != "" {
			return fail(why, key)
		}
		return &credential{Type: "oauth", login: l}, nil
	case "api_key":
	case "":
		return fail("a credential needs a type: \"api_key\" or \"oauth\"")
	default:
		return fail(fmt.Sprintf("unknown type %q; it is \"api_key\" or \"oauth\"", kind.Type), "type")
	}
	if err := wire.DecodeJSON(name, entry, &c); err != nil {
		var e *wire.JSONError
		if errors.As(err, &e) {
			e.Line += lineOf(data, id) - 1
		}
		return nil, err
	}
	if c.Key == "" {
		return fail("the credential has no key")
	}
	return &c, nil
}
