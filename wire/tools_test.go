package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestToolSchema(t *testing.T) {
	for text, why := range map[string]string{
		`{"description":"x"}`: "",
		`{"description":"x","timeout":"90s","parameters":{"type":"object","properties":{"a":{"type":["string","null"],"enum":["b"]},"n":{"anyOf":[{"type":"integer","minimum":1},{"$ref":"#/$defs/n"}]},"l":{"type":"array","items":{"type":"object","properties":{"deep":true}}}},"required":["a"],"additionalProperties":false,"$defs":{"n":{"const":0}},"x-kept":null}}`: "",
		``:                          "too early",
		`[]`:                        "want a JSON object",
		`{}`:                        "description is missing",
		`{"description":" "}`:       "description is missing",
		`{"description":"a\u0000"}`: "no NUL",
		`{"descripton":"x"}`:        "did you mean description?",
		`{"description":"x"}{`:      "text after",
		`{"description":"` + strings.Repeat("x", 5000) + `"}`:                                      "it may have 1024",
		`{"description":"x","timeout":"soon"}`:                                                     "want a duration",
		`{"description":"x","timeout":"-1s"}`:                                                      "want a duration",
		`{"description":"x","timeout":"25h"}`:                                                      "at most 24h",
		`{"description":"x","parameters":[]}`:                                                      "want a JSON Schema",
		`{"description":"x","parameters":null}`:                                                    "want a JSON Schema",
		`{"description":"x","parameters":{}}`:                                                      `want "type": "object"`,
		`{"description":"x","parameters":{"type":"object","oneOf":[]}}`:                            "no provider takes oneOf at the top",
		`{"description":"x","parameters":{"type":"object","properties":[]}}`:                       "parameters.properties: want an object",
		`{"description":"x","parameters":{"type":"object","properties":{"a b":{}}}}`:               `"a b": a name has`,
		`{"description":"x","parameters":{"type":"object","properties":{"a":"string"}}}`:           "parameters.properties.a: want an object",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"type":"text"}}}}`:    "text is no type",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"type":[1]}}}}`:       "1 is no type",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"items":[{}]}}}}`:     "parameters.properties.a.items: want an object",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"enum":[]}}}}`:        "want a list of values",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"anyOf":{}}}}}`:       "anyOf: want a list of schemas",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{"anyOf":[3]}}}}`:      "anyOf[0]: want an object",
		`{"description":"x","parameters":{"type":"object","required":["a"]}}`:                      "a is not among the properties",
		`{"description":"x","parameters":{"type":"object","properties":{"a":{}},"required":true}}`: "want a list of names",
		`{"description":"x","parameters":{"type":"object","x":` + strings.Repeat("[", 80):          "nested more than",
	} {
		s, err := ParseToolSchema([]byte(text))
		if why == "" && err != nil || why != "" && (err == nil || !strings.Contains(err.Error(), why)) {
			t.Errorf("%.120s: %v; want %q", text, err, why)
		}
		if err == nil && s.Check() != nil {
			t.Errorf("%s: kept, it is refused: %v", text, s.Check())
		}
	}
	s, err := ParseToolSchema([]byte(`{"description": "x"}`))
	if err != nil || string(s.Parameters) != `{"type":"object","properties":{}}` {
		t.Errorf("without parameters: %s, %v", s.Parameters, err)
	}
	if d, err := s.Patience(); d != ToolTimeout || err != nil {
		t.Errorf("patience %v, %v", d, err)
	}
	if d, err := (ToolSchema{Timeout: "90s"}).Patience(); d != 90*time.Second || err != nil {
		t.Errorf("patience %v, %v", d, err)
	}
}

// Whatever the request, its summary fits a line and says nothing else than it.
func TestToolRequest_summary_fits_a_line(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat(rapid.SampledFrom([]string{"x", "<", "é", "\x00"}).Draw(t, "unit"), rapid.IntRange(0, 2000).Draw(t, "times"))
		}))
		args, err := json.Marshal(map[string]string{"a": text.Draw(t, "args")})
		if err != nil {
			t.Fatal(err)
		}
		r := ToolRequest{
			Call: text.Draw(t, "call"), Conversation: text.Draw(t, "conversation"), Thread: text.Draw(t, "thread"), Args: args,
			Origin: Origin{Kind: "interactive", UserName: text.Draw(t, "name")},
		}
		const room = 900
		line, err := r.Summary(room)
		if err != nil || len(line) > room {
			t.Fatalf("%d bytes, %v", len(line), err)
		}
		whole, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if len(whole) <= room && string(line) != string(whole) {
			t.Fatalf("%s is not all of %s", line, whole)
		}
	})
}

func FuzzParseToolAnswer(f *testing.F) {
	for _, s := range []string{"", `"text"`, `{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}],"details":{}}`, `{"content":"x"}`, `[1]`, `{"content":[null]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := ParseToolAnswer(data)
		if err != nil {
			return
		}
		for _, p := range a.Content {
			if p.Type != Text && p.Type != Image || p.Name != "" || p.Thinking != "" || p.Arguments != nil {
				t.Errorf("%q gives the part %+v", data, p)
			}
		}
	})
}

// Each of these makes a provider answer 400 to every request of the office.
func TestToolSchema_refuses_what_a_provider_would(t *testing.T) {
	a := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	for parameters, why := range map[string]string{
		a(`{"type":"array"}`):                     "parameters.properties.a: a list needs items",
		a(`{"type":["array","null"]}`):            "a list needs items",
		a(`{"type":"array","items":null}`):        "items: want an object",
		a(`{"type":[]}`):                          "a.type: want a type",
		a(`{"type":null}`):                        "is no type",
		a(`{"type":["string","string"]}`):         "string is given twice",
		a(`{"enum":null}`):                        "want a list of values",
		a(`{"description":5}`):                    "want a text",
		a(`{"minimum":"1"}`):                      "want a number",
		a(`{"exclusiveMinimum":true}`):            "want a number",
		a(`{"multipleOf":0}`):                     "above 0",
		a(`{"minLength":-1}`):                     "want a whole number",
		a(`{"maxItems":1.5}`):                     "want a whole number",
		a(`{"uniqueItems":"yes"}`):                "want true or false",
		a(`{"$ref":"#/$defs/none"}`):              "want #/$defs/",
		a(`{"$ref":"http://example.com/schema"}`): "want #/$defs/",
		a(`{"$id":"a"}`):                          "leave it out",
		a(`{"dependencies":{}}`):                  "leave it out",
		a(`{"description":"\ud800"}`):             "no half of a surrogate pair",
		a(`{"title":"a\u0000b"}`):                 "no NUL",
		a("{\"description\":\"\xff\"}"):           "want UTF-8",
		a(`{"default":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`): "nested more than 32",
		`{"type":"object","properties":null}`:                                      "properties: want an object",
		`{"type":"object","properties":{},"required":null}`:                        "want a list of names",
		`{"type":"object","properties":{"a":{}},"required":["a","a"]}`:             "a is given twice",
		`{"type":"object","properties":{},"$defs":{"a":5}}`:                        "$defs.a: want an object",
		`{"type":"object","properties":{},"const":{}}`:                             "takes const at the top",
		`{"type":"object","properties":{},"$ref":"#/$defs/a"}`:                     "takes $ref at the top",
	} {
		if _, err := ParseToolSchema([]byte(`{"description":"x","parameters":` + parameters + `}`)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.120s: %v; want %q", parameters, err, why)
		}
	}
	for _, name := range []string{"1st", "-x", "a.b", ""} {
		if CheckToolName(name) == nil {
			t.Errorf("the name %q is taken", name)
		}
	}
	s, err := ParseToolSchema([]byte(`{"description":"x","parameters":{ "type": "object" }}`))
	if err != nil || string(s.Parameters) != `{"properties":{},"type":"object"}` {
		t.Errorf("without properties: %s, %v", s.Parameters, err)
	}
	if _, err := ParseToolSchema([]byte(`{"description":"` + strings.Repeat("é", 1024) + `"}`)); err != nil {
		t.Errorf("of 1024 characters: %v", err)
	}
}
