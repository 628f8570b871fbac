package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// propertyName is what every provider takes for the name of a parameter.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// jsonTypes are the types of JSON Schema.
var jsonTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// maxSchemaDepth is how deep objects and lists may be nested in parameters:
// about half as many schemas.
const maxSchemaDepth = 32

// notAtTop are the keywords that a provider refuses at the top.
var notAtTop = []string{"$ref", "allOf", "anyOf", "const", "enum", "not", "oneOf"}

// schemaCheck judges one schema and those in it.
type schemaCheck struct {
	top map[string]any
}

// checkParameters reports why data is no JSON Schema that every provider takes
// for the parameters of a tool: all of them judge it as one of the draft
// 2020-12, and each has rules of its own. Keywords that no draft has are let
// pass.
func checkParameters(data []byte) error {
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		return fmt.Errorf(`schema: parameters: want a JSON Schema, such as {"type": "object", "properties": {}}`)
	}
	if top["type"] != "object" {
		return fmt.Errorf(`schema: parameters: want "type": "object" at the top`)
	}
	for _, key := range notAtTop {
		if _, has := top[key]; has {
			return fmt.Errorf("schema: parameters: no provider takes %s at the top; put it into a property", key)
		}
	}
	if err := checkJSON(top, 0); err != nil {
		return err
	}
	return schemaCheck{top}.schema(top, "parameters")
}

// checkJSON reports what not every provider reads: a text that is not Unicode,
// which half of a surrogate pair is not, or holds NUL, and what is nested too deep.
func checkJSON(v any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("schema: parameters: nested more than %d deep", maxSchemaDepth)
	}
	var within []any
	switch v := v.(type) {
	case string:
		if strings.ContainsAny(v, "\uFFFD\x00") { // the first is what the decoder has made of it
			return fmt.Errorf("schema: parameters: %.80q: want UTF-8, no NUL and no half of a surrogate pair", v)
		}
	case []any:
		within = v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			within = append(within, key, v[key])
		}
	}
	for _, one := range within {
		if err := checkJSON(one, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// schema reports what is wrong with one schema and those in it.
func (c schemaCheck) schema(v any, path string) error {
	if _, ok := v.(bool); ok {
		return nil
	}
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("schema: %s: want an object", path)
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		if err := c.keyword(key, s[key], path+"."+key); err != nil {
			return err
		}
	}
	if hasType(s["type"], "array") && s["items"] == nil {
		return fmt.Errorf("schema: %s: a list needs items; {} is any", path)
	}
	return checkRequired(s, path)
}

// keyword reports what is wrong with the value of a keyword.
func (c schemaCheck) keyword(key string, v any, path string) error {
	switch key {
	case "type":
		return checkType(v, path)
	case "properties":
		return c.named(v, path, propertyName)
	case "$defs", "definitions", "dependentSchemas", "patternProperties":
		return c.named(v, path, nil)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return c.list(v, path)
	case "additionalProperties", "contains", "else", "if", "items", "not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties":
		return c.schema(v, path)
	case "$ref":
		return c.ref(v, path)
	case "enum":
		list, ok := v.([]any)
		return want(ok && len(list) > 0, path, "a list of values")
	case "examples":
		_, ok := v.([]any)
		return want(ok, path, "a list of values")
	case "$comment", "$schema", "contentEncoding", "contentMediaType", "description", "format", "pattern", "title":
		_, ok := v.(string)
		return want(ok, path, "a text")
	case "deprecated", "readOnly", "uniqueItems", "writeOnly":
		_, ok := v.(bool)
		return want(ok, path, "true or false")
	case "exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum":
		_, ok := v.(float64)
		return want(ok, path, "a number")
	case "multipleOf":
		n, ok := v.(float64)
		return want(ok && n > 0, path, "a number above 0")
	case "maxContains", "maxItems", "maxLength", "maxProperties", "minContains", "minItems", "minLength", "minProperties":
		n, ok := v.(float64)
		return want(ok && n >= 0 && n == math.Trunc(n), path, "a whole number, not below 0")
	case "dependencies", "dependentRequired":
		return fmt.Errorf("schema: %s: not every provider takes it; leave it out", path)
	}
	return want(!strings.HasPrefix(key, "$"), path, "no such keyword; leave it out")
}

func want(ok bool, path, what string) error {
	if ok {
		return nil
	}
	return fmt.Errorf("schema: %s: want %s", path, what)
}

// list reports what is wrong with a list of schemas.
func (c schemaCheck) list(v any, path string) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return want(false, path, "a list of schemas")
	}
	for i, one := range list {
		if err := c.schema(one, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// named reports what is wrong with schemas that have names, each of a form.
func (c schemaCheck) named(v any, path string, form *regexp.Regexp) error {
	all, ok := v.(map[string]any)
	if !ok {
		return want(false, path, "an object")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if form != nil && !form.MatchString(name) {
			return fmt.Errorf("schema: %s: %.80q: a name has 1 to 64 letters, digits, dots, _ and -", path, name)
		}
		if err := c.schema(all[name], path+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// ref reports a reference that leads nowhere, or out of the schema.
func (c schemaCheck) ref(v any, path string) error {
	ref, _ := v.(string)
	for _, key := range []string{"$defs", "definitions"} {
		all, _ := c.top[key].(map[string]any)
		if name, ok := strings.CutPrefix(ref, "#/"+key+"/"); ok && all[name] != nil {
			return nil
		}
	}
	return fmt.Errorf("schema: %s: %.80v: want #/$defs/ and a name that is there", path, v)
}

// hasType reports whether the value of the keyword type has a name.
func hasType(v any, name string) bool {
	list, _ := v.([]any)
	return v == name || slices.Contains(list, any(name))
}

// checkType reports a type that is none.
func checkType(v any, path string) error {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	if len(list) == 0 {
		return want(false, path, "a type or a list of some")
	}
	for i, one := range list {
		name, ok := one.(string)
		if !ok || !slices.Contains(jsonTypes, name) {
			return fmt.Errorf("schema: %s: %.40v is no type; the types are %s", path, one, strings.Join(jsonTypes, ", "))
		}
		if slices.Contains(list[:i], one) {
			return fmt.Errorf("schema: %s: %s is given twice", path, name)
		}
	}
	return nil
}

// checkRequired reports what is required and not there, or twice.
func checkRequired(s map[string]any, path string) error {
	v, has := s["required"]
	required, ok := v.([]any)
	if has && !ok {
		return want(false, path+".required", "a list of names")
	}
	props, _ := s["properties"].(map[string]any)
	for i, r := range required {
		name, ok := r.(string)
		if _, there := props[name]; !ok || !there {
			return fmt.Errorf("schema: %s.required: %.80v is not among the properties", path, r)
		}
		if slices.Contains(required[:i], r) {
			return fmt.Errorf("schema: %s.required: %s is given twice", path, name)
		}
	}
	return nil
}
