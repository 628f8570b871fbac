package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
)

// JSONError is what is wrong in a JSON file that a person wrote.
type JSONError struct {
	File string
	Line int // from 1
	Text string
}

// Error is "file:line: text".
func (e *JSONError) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// DecodeJSON reads the JSON object in data into v, a pointer to a struct. An
// unknown key, a value of the wrong type, a key given twice and anything after
// the object are errors. The error is a [*JSONError] with the line.
func DecodeJSON(file string, data []byte, v any) error {
	written := len(bytes.TrimRight(data, " \t\r\n")) // an early end is on the last line with anything
	fail := func(offset int64, format string, args ...any) error {
		return &JSONError{file, 1 + bytes.Count(data[:min(int(offset), written)], []byte("\n")), fmt.Sprintf(format, args...)}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // what does not fit is an error of its key, below
	if err := checkKeys(d, reflect.TypeOf(v).Elem(), "", 0, fail); err != nil {
		return err
	}
	end := d.InputOffset()
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fail(end, "text after the closing brace")
	}
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(data, v); {
	case errors.As(err, &wrong):
		return fail(wrong.Offset, "%s: want %s, have %s", wrong.Field, kindName(wrong.Type), strings.TrimPrefix(wrong.Value, "number "))
	case err != nil:
		return fail(0, "%v", err)
	}
	return nil
}

// maxDepth is how deep objects and lists may be nested. Nobody who writes one by
// hand gets near it.
const maxDepth = 64

// checkKeys walks one value of d along t and reports the first key that t has
// no field for.
func checkKeys(d *json.Decoder, t reflect.Type, path string, depth int, fail func(int64, string, ...any) error) error {
	if depth > maxDepth {
		return fail(d.InputOffset(), "nested more than %d deep", maxDepth)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	tok, err := d.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fail(syntax.Offset, "%v", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(math.MaxInt32, "the text ends too early")
	case err != nil:
		return fail(d.InputOffset(), "%v", err)
	case path == "" && tok != json.Delim('{'):
		return fail(0, "want a JSON object")
	case tok == json.Delim('['):
		for d.More() {
			if err := checkKeys(d, elem(t, reflect.Slice), path+"[]", depth+1, fail); err != nil {
				return err
			}
		}
		return closing(d, fail)
	case tok == json.Delim('{'):
		return checkObject(d, t, path, depth, fail)
	}
	return nil
}

func checkObject(d *json.Decoder, t reflect.Type, path string, depth int, fail func(int64, string, ...any) error) error {
	seen := map[string]bool{}
	for d.More() {
		tok, err := d.Token()
		key, ok := tok.(string)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fail(math.MaxInt32, "the text ends too early")
		}
		if err != nil || !ok {
			return fail(d.InputOffset(), "want a key in quotes")
		}
		name := strings.TrimPrefix(path+"."+key, ".")
		if seen[key] {
			return fail(d.InputOffset(), "%s is given twice", name)
		}
		seen[key] = true
		next := elem(t, reflect.Map)
		if t != nil && t.Kind() == reflect.Struct {
			f, known := field(t, key)
			if !known {
				return fail(d.InputOffset(), "unknown key %s%s", name, DidYouMean(key, fieldNames(t)))
			}
			next = f
		}
		if err := checkKeys(d, next, name, depth+1, fail); err != nil {
			return err
		}
	}
	return closing(d, fail)
}

// closing reads the delimiter that ends an array or object.
func closing(d *json.Decoder, fail func(int64, string, ...any) error) error {
	if _, err := d.Token(); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return fail(syntax.Offset, "%v", err)
		}
		return fail(math.MaxInt32, "the text ends too early")
	}
	return nil
}

// elem is t's element type if t is of kind k, else nil: nothing is checked.
func elem(t reflect.Type, k reflect.Kind) reflect.Type {
	if t != nil && t.Kind() == k {
		return t.Elem()
	}
	return nil
}

func field(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		if tag(t.Field(i)) == key {
			return t.Field(i).Type, true
		}
	}
	return nil, false
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		names = append(names, tag(t.Field(i)))
	}
	return names
}

func tag(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// kindName is what a person calls a value of type t.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number below 1e308"
	}
	return "a number below 2^63 without fraction or exponent"
}

// DidYouMean is " (did you mean X?)", or nothing if no candidate is near.
func DidYouMean(word string, candidates []string) string {
	if c := Nearest(word, candidates); c != "" {
		return " (did you mean " + c + "?)"
	}
	return ""
}
