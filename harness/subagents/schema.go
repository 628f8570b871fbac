package subagents

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// compile reads a schema for the output of a subagent. What would take long to
// check, or never be done with, is refused.
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
	if err := new(modesty).check(raw, 1); err != nil {
		return nil, err
	}
	checked, err := json.Marshal(raw) // of a key that stands twice data has both
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(checked, &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

// modesty looks through a schema. That a key is in capitals does not matter to the
// package that reads it, either.
type modesty struct{ patterns int } // bytes so far

// check refuses a reference, which may lead back to itself, a schema that is
// nested too deep, each level of which repeats the complaints of those below, and
// regular expressions that are too long together.
func (m *modesty) check(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("it is nested deeper than the limit of %d", maxSchemaDepth)
	}
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if strings.EqualFold(key, "$ref") || strings.EqualFold(key, "$dynamicRef") {
				return errors.New("$ref and $dynamicRef are not supported; write the parts out")
			}
			m.count(key, inner)
			if err := m.check(inner, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := m.check(inner, depth+1); err != nil {
				return err
			}
		}
	}
	if m.patterns > maxPatterns {
		return fmt.Errorf("its patterns have more than %d bytes together, the limit", maxPatterns)
	}
	return nil
}

// count counts the regular expressions that a key holds.
func (m *modesty) count(key string, v any) {
	switch v := v.(type) {
	case string:
		if strings.EqualFold(key, "pattern") {
			m.patterns += len(v)
		}
	case map[string]any:
		if strings.EqualFold(key, "patternProperties") {
			for pattern := range v {
				m.patterns += len(pattern)
			}
		}
	}
}

// output is the value that text, a subagent's last words, is: JSON as the schema
// wants it, and nothing besides.
func output(schema *jsonschema.Resolved, text string) (json.RawMessage, error) {
	if len(text) > maxOutput {
		return nil, fmt.Errorf("the final text has %d bytes; with an output schema the limit is %d", len(text), maxOutput)
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, fmt.Errorf("the final text is not exactly one JSON value: %w", err)
	}
	if err := schema.Validate(v); err != nil {
		return nil, fmt.Errorf("the final text does not fit the output schema: %w", err)
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}
