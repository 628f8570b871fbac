package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestDecodeJSON_names_the_line(t *testing.T) {
	type inner struct {
		Name string `json:"name"`
	}
	type file struct {
		A    string           `json:"a"`
		List []inner          `json:"list"`
		Map  map[string]inner `json:"map"`
		Any  json.RawMessage  `json:"any"`
		N    *int             `json:"n"`
		F    *float64         `json:"f"`
	}
	for _, c := range []struct {
		text string
		line int
		say  string
	}{
		{"", 1, "ends too early"},
		{"{\n\n", 1, "ends too early"},
		{"{\n\"a\": \"x\",\n", 2, "ends too early"},
		{"{\"a\": [\n", 1, "ends too early"},
		{"[]", 1, "want a JSON object"},
		{"5", 1, "want a JSON object"},
		{"{\n\"b\": 1}", 2, "unknown key b (did you mean a?)"},
		{"{\"list\": [{},\n{\"nome\": 1}]}", 2, "unknown key list[].nome (did you mean name?)"},
		{"{\"map\": {\"x\": {\n\"nome\": 1}}}", 2, "unknown key map.x.nome (did you mean name?)"},
		{"{\"a\":\n5}", 2, "a: want a string, have number"},
		{"{\n\"f\": 1e309}", 2, "f: want a number below 1e308, have 1e309"},
		{"{\"n\":\n1.5}", 2, "n: want a number below 2^63 without fraction or exponent, have 1.5"},
		{"{\"n\": 9223372036854775808}", 1, "n: want a number below 2^63 without fraction or exponent, have 9223372036854775808"},
		{"{\"a\": \"x\",\n\"a\": \"y\"}", 2, "a is given twice"},
		{"{\"a\": \"x\"}\nx", 1, "text after"},
		{"{\"any\":\n" + strings.Repeat("[", 50_000), 2, "nested more than 64 deep"},
		{"{\"a\" \"x\"}", 1, "invalid character"},
	} {
		var v file
		err := DecodeJSON("f.json", []byte(c.text), &v)
		var j *JSONError
		if !errors.As(err, &j) || j.Line != c.line || !strings.Contains(j.Text, c.say) {
			t.Errorf("%q: %v, want line %d: %s", c.text, err, c.line, c.say)
		}
	}
	var v file
	if err := DecodeJSON("f.json", []byte(`{"any": {"what": ["ever", {"you": "like"}]}, "map": {"k": {"name": "n"}}}`), &v); err != nil || v.Map["k"].Name != "n" {
		t.Errorf("a good file: %v, %+v", err, v)
	}
}

func FuzzDecodeJSON(f *testing.F) {
	f.Add([]byte(`{"a":"x","list":[{"name":"n"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v struct {
			A    string `json:"a"`
			List []struct {
				Name string `json:"name"`
			} `json:"list"`
		}
		if DecodeJSON("f", data, &v) == nil && !json.Valid(data) {
			t.Fatalf("%q is not JSON", data)
		}
	})
}
