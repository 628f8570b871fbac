package mcp

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

const (
	maxSchema      = 16 << 10 // bytes of a tool's schema
	maxSchemaDepth = 16
)

// shape is what the value of a keyword of a schema must be.
type shape int

const (
	isText shape = iota
	isNumber
	isCount // a whole number, not negative
	isBool
	isAny
	isList    // of anything
	isTexts   // a list of texts
	isType    // the name of a type, or several
	isSchema  // a schema
	isExtra   // a schema, true or false
	isSchemas // a list of schemas
	isNamed   // schemas by name
	isRef     // within the schema
)

// keywords are those of JSON Schema 2020-12 that every provider takes. Others are
// dropped: a keyword of another draft makes a provider refuse the whole request.
var keywords = map[string]shape{
	"title": isText, "description": isText, "pattern": isText, "format": isText, "contentEncoding": isText,
	"type": isType, "enum": isList, "const": isAny, "default": isAny, "examples": isList,
	"minimum": isNumber, "maximum": isNumber, "exclusiveMinimum": isNumber, "exclusiveMaximum": isNumber,
	"minLength": isCount, "maxLength": isCount, "minItems": isCount, "maxItems": isCount, "minProperties": isCount, "maxProperties": isCount,
	"uniqueItems": isBool, "deprecated": isBool, "readOnly": isBool, "writeOnly": isBool,
	"properties": isNamed, "patternProperties": isNamed, "$defs": isNamed, "definitions": isNamed,
	"items": isSchema, "additionalProperties": isExtra, "propertyNames": isSchema, "not": isSchema, "contains": isSchema,
	"prefixItems": isSchemas, "anyOf": isSchemas, "oneOf": isSchemas, "allOf": isSchemas,
	"required": isTexts, "$ref": isRef,
}

var (
	types        = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// fitSchema writes a tool's schema anew so that every provider takes it: an
// object at the top that is no choice between others, and in it only what is
// well formed. It reports false if the schema is too large.
func fitSchema(schema any) (json.RawMessage, bool) {
	top, _ := schema.(map[string]any)
	fit := fitObject(top, 0)
	properties := flattener{top: fit, seen: map[string]bool{}}.flatten(fit, 0)
	for _, choice := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"} {
		delete(fit, choice)
	}
	fit["type"], fit["properties"] = "object", properties
	text, err := json.Marshal(fit)
	return text, err == nil && len(text) <= maxSchema
}

// flattener gathers the properties of a schema and of those that it is made of or
// is a choice between. One that is named is looked at once: a few that name each
// other many times would else take for ever.
type flattener struct {
	top  map[string]any
	seen map[string]bool // by reference
}

func (f flattener) flatten(schema map[string]any, depth int) map[string]any {
	all := map[string]any{}
	if depth > maxSchemaDepth {
		return all
	}
	var parts []any
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[key].([]any)
		parts = append(parts, list...)
	}
	if ref, _ := schema["$ref"].(string); !f.seen[ref] {
		f.seen[ref] = true
		parts = append(parts, f.named(ref))
	}
	for _, part := range parts {
		if sub, ok := part.(map[string]any); ok {
			maps.Copy(all, f.flatten(sub, depth+1))
		}
	}
	own, _ := schema["properties"].(map[string]any)
	maps.Copy(all, own)
	return all
}

// named is what a reference names, nil if that is not there.
func (f flattener) named(ref string) any {
	for _, key := range []string{"$defs", "definitions"} {
		named, _ := f.top[key].(map[string]any)
		if name, ok := strings.CutPrefix(ref, "#/"+key+"/"); ok {
			return named[name]
		}
	}
	return nil
}

// fitObject is a schema without what is not fit.
func fitObject(schema map[string]any, depth int) map[string]any {
	fit := map[string]any{}
	if depth > maxSchemaDepth {
		return fit
	}
	for key, value := range schema {
		if want, known := keywords[key]; known {
			if v, ok := want.fit(value, depth); ok {
				fit[key] = v
			}
		}
	}
	if _, ok := fit["items"]; !ok && fit["type"] == "array" {
		fit["items"] = map[string]any{}
	}
	fitNames(fit)
	return fit
}

// fitNames drops the properties that a provider does not take, and what is
// required though it is none.
func fitNames(fit map[string]any) {
	properties, ok := fit["properties"].(map[string]any)
	if !ok {
		delete(fit, "required")
		return
	}
	for name := range properties {
		if !propertyName.MatchString(name) {
			delete(properties, name)
		}
	}
	required, _ := fit["required"].([]any)
	seen := map[any]bool{}
	required = slices.DeleteFunc(required, func(v any) bool {
		_, there := properties[v.(string)]
		twice := seen[v]
		seen[v] = true
		return !there || twice
	})
	if fit["required"] = required; len(required) == 0 {
		delete(fit, "required")
	}
}

// fit returns the value of a keyword as it is well formed, or false.
func (s shape) fit(value any, depth int) (any, bool) {
	switch s {
	case isText:
		_, ok := value.(string)
		return value, ok
	case isNumber:
		_, ok := value.(float64)
		return value, ok
	case isCount:
		n, ok := value.(float64)
		return value, ok && n >= 0 && n == math.Trunc(n)
	case isBool:
		_, ok := value.(bool)
		return value, ok
	case isRef:
		ref, ok := value.(string)
		return value, ok && strings.HasPrefix(ref, "#/")
	case isType:
		return fitType(value)
	case isSchema:
		return fitSub(value, depth)
	case isExtra:
		if b, ok := value.(bool); ok {
			return b, true
		}
		return fitSub(value, depth)
	}
	return s.fitMany(value, depth)
}

// fitMany is fit for values of several parts.
func (s shape) fitMany(value any, depth int) (any, bool) {
	list, isArray := value.([]any)
	switch s {
	case isAny:
		return value, true
	case isList:
		return value, isArray && len(list) > 0
	case isTexts:
		return slices.DeleteFunc(slices.Clone(list), func(v any) bool { _, ok := v.(string); return !ok }), isArray
	case isSchemas:
		var fit []any
		for _, v := range list {
			if sub, ok := fitSub(v, depth); ok {
				fit = append(fit, sub)
			}
		}
		return fit, len(fit) > 0
	}
	named, ok := value.(map[string]any)
	fit := map[string]any{}
	for name, v := range named {
		if sub, ok := fitSub(v, depth); ok {
			fit[name] = sub
		}
	}
	return fit, ok
}

// fitSub is a schema within another. True is written as a schema that takes
// anything; false is dropped.
func fitSub(value any, depth int) (any, bool) {
	if value == true {
		return map[string]any{}, true
	}
	schema, ok := value.(map[string]any)
	return fitObject(schema, depth+1), ok
}

// fitType is a name of a type or a list of some.
func fitType(value any) (any, bool) {
	if name, ok := value.(string); ok {
		return name, slices.Contains(types, name)
	}
	list, _ := value.([]any)
	fit := slices.DeleteFunc(slices.Clone(list), func(v any) bool { name, ok := v.(string); return !ok || !slices.Contains(types, name) })
	return fit, len(fit) > 0
}
