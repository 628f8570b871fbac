package subagents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// compile reads a schema for the output of a subagent. References are refused:
// one that leads back to itself would never be done with.
func compile(data json.RawMessage) (*jsonschema.Resolved, error) {
	if len(data) > maxOutputSchema {
		return nil, fmt.Errorf("it has %d bytes; the limit is %d", len(data), maxOutputSchema)
	}
	var raw any
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	if _, ok := raw.(map[string]any); !ok {
		return nil, errors.New("want a JSON Schema, an object")
	}
	if refers(raw) {
		return nil, errors.New("$ref and $dynamicRef are not supported; write the parts out")
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

func refers(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if key == "$ref" || key == "$dynamicRef" || refers(inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if refers(inner) {
				return true
			}
		}
	}
	return false
}

// output is the value that text, a subagent's last words, is: JSON as the schema
// wants it, and nothing besides.
func output(schema *jsonschema.Resolved, text string) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("the final text is not exactly one JSON value: %w", err)
	}
	if err := schema.Validate(v); err != nil {
		return nil, fmt.Errorf("the final text does not fit the output schema: %w", err)
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}
