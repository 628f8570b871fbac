package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// propertyName is what every provider takes for the name of a parameter.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// jsonTypes are the types of JSON Schema.
var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// combiners are the keywords whose value is a list of schemas.
var combiners = []string{"allOf", "anyOf", "oneOf"}

// checkParameters reports why data is no JSON Schema that every provider takes
// for the parameters of a tool. Keywords that none of them looks at are let
// pass.
func checkParameters(data []byte) error {
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return fmt.Errorf(`schema: parameters: want a JSON Schema, such as {"type": "object", "properties": {}}`)
	}
	if top["type"] != "object" {
		return fmt.Errorf(`schema: parameters: want "type": "object" at the top`)
	}
	for _, key := range append([]string{"enum", "not"}, combiners...) {
		if _, has := top[key]; has {
			return fmt.Errorf("schema: parameters: no provider takes %s at the top; put it into a property", key)
		}
	}
	return checkSchema(top, "parameters")
}

// checkSchema reports what is wrong with one schema and those in it.
func checkSchema(v any, path string) error {
	if _, ok := v.(bool); ok {
		return nil
	}
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("schema: %s: want an object", path)
	}
	if err := checkType(s["type"], path); err != nil {
		return err
	}
	if err := checkProperties(s, path); err != nil {
		return err
	}
	for _, key := range combiners {
		list, ok := s[key].([]any)
		if s[key] != nil && (!ok || len(list) == 0) {
			return fmt.Errorf("schema: %s.%s: want a list of schemas", path, key)
		}
		for i, one := range list {
			if err := checkSchema(one, fmt.Sprintf("%s.%s[%d]", path, key, i)); err != nil {
				return err
			}
		}
	}
	for _, key := range []string{"items", "additionalProperties", "not"} {
		if s[key] == nil {
			continue
		}
		if err := checkSchema(s[key], path+"."+key); err != nil {
			return err
		}
	}
	if list, ok := s["enum"].([]any); s["enum"] != nil && (!ok || len(list) == 0) {
		return fmt.Errorf("schema: %s.enum: want a list of values", path)
	}
	return nil
}

// checkType reports a type that is none.
func checkType(v any, path string) error {
	list, ok := v.([]any)
	if !ok && v != nil {
		list = []any{v}
	}
	for _, one := range list {
		if name, ok := one.(string); !ok || !slices.Contains(jsonTypes, name) {
			return fmt.Errorf("schema: %s.type: %.40v is no type; the types are %s", path, one, strings.Join(jsonTypes, ", "))
		}
	}
	return nil
}

// checkProperties reports a property that is no schema or that no provider
// takes, and one that is required and not there.
func checkProperties(s map[string]any, path string) error {
	props, ok := s["properties"].(map[string]any)
	if s["properties"] != nil && !ok {
		return fmt.Errorf("schema: %s.properties: want an object", path)
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if !propertyName.MatchString(name) {
			return fmt.Errorf("schema: %s.properties: %.80q: a name has 1 to 64 letters, digits, dots, _ and -", path, name)
		}
		if err := checkSchema(props[name], path+".properties."+name); err != nil {
			return err
		}
	}
	required, ok := s["required"].([]any)
	if s["required"] != nil && !ok {
		return fmt.Errorf("schema: %s.required: want a list of names", path)
	}
	for _, r := range required {
		name, ok := r.(string)
		if _, has := props[name]; !ok || !has {
			return fmt.Errorf("schema: %s.required: %.80v is not among the properties", path, r)
		}
	}
	return nil
}
