package harness

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mikan/wire"
)

// named gives arguments the names that a tool's schema has for them. Decoding
// takes a name in any case, and a hook that looks for "command" does not: both are
// to see the same.
func named(schema, args json.RawMessage) json.RawMessage {
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(schema, &known) != nil || json.Unmarshal(args, &given) != nil {
		return args
	}
	changed := false
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := known.Properties[name]; ok {
			continue
		}
		for right := range known.Properties {
			if !strings.EqualFold(right, name) {
				continue
			}
			if _, twice := given[right]; !twice {
				given[right] = given[name]
			}
			delete(given, name)
			changed = true
		}
	}
	if !changed {
		return args
	}
	if plain, err := wire.PlainJSON(given); err == nil {
		return plain
	}
	return args
}
