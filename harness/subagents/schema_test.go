package subagents

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/modeltest"
	"mikan/harness/openai"
	"mikan/harness/responses"
	"mikan/wire"
)

// What providers refuse in the schema of a tool: references, alternatives, a part
// without a type, a list that does not say of what.
func TestFault_21_32_no_provider_refuses_the_nested_schema(t *testing.T) {
	tool := Tool(Parent{})
	var s any
	if err := json.Unmarshal(tool.Schema, &s); err != nil {
		t.Fatal(err)
	}
	plain(t, "", s.(map[string]any))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	for name, api := range map[string]func() (*modeltest.Server, harness.Provider){
		anthropic.API: func() (*modeltest.Server, harness.Provider) {
			s := modeltest.NewAnthropic(t, modeltest.Turn{Text: "ok"})
			return s, anthropic.New(anthropic.Options{BaseURL: s.URL, Key: "k", Client: client})
		},
		openai.API: func() (*modeltest.Server, harness.Provider) {
			s := modeltest.NewOpenAI(t, modeltest.Turn{Text: "ok"})
			return s, openai.New(openai.Options{BaseURL: s.URL, Key: "k", Client: client})
		},
		responses.API: func() (*modeltest.Server, harness.Provider) {
			s := modeltest.NewResponses(t, modeltest.Turn{Text: "ok"})
			return s, responses.New(responses.Options{BaseURL: s.URL, Key: "k", Client: client})
		},
	} {
		server, p := api()
		run := &harness.Run{
			Model: harness.Model{Provider: name, ID: "m", API: name, BaseURL: server.URL, Window: 100_000, MaxTokens: 100}, Provider: p,
			Tools: []harness.Tool{tool}, Store: &memory{}, Prompt: wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart("go")}},
		}
		if end := run.Do(t.Context()); end.Outcome != wire.OK || !strings.Contains(string(server.Requests()[0].Body), "dependsOn") {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

func plain(t *testing.T, at string, s map[string]any) {
	for _, word := range []string{"$ref", "$defs", "oneOf", "anyOf", "allOf", "not", "if"} {
		if _, ok := s[word]; ok {
			t.Errorf("%s has %s", at, word)
		}
	}
	switch s["type"] {
	case "object":
		props, ok := s["properties"].(map[string]any)
		if !ok {
			t.Errorf("%s: an object without properties", at)
		}
		for name, p := range props {
			plain(t, at+"/"+name, p.(map[string]any))
		}
		required, _ := s["required"].([]any)
		for _, r := range required {
			if props[r.(string)] == nil {
				t.Errorf("%s requires %s, which it does not describe", at, r)
			}
		}
	case "array":
		items, ok := s["items"].(map[string]any)
		if !ok {
			t.Errorf("%s: a list of nothing", at)
		}
		plain(t, at+"[]", items)
	case "string", "integer":
	default:
		t.Errorf("%s: type %v", at, s["type"])
	}
}

func TestLongResultsAreCutOffBetweenCharacters(t *testing.T) {
	var list []Result
	for range 8 {
		list = append(list, Result{Status: Completed, Text: strings.Repeat("日", 20_000)})
	}
	text, err := shown(list)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Results []Result }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Results) != 8 {
		t.Fatal(err)
	}
	for _, r := range got.Results {
		if n := len([]rune(r.Text)); n != 6000 || !strings.HasSuffix(r.Text, "日 [cut off]") {
			t.Errorf("%d characters", n)
		}
	}
}

// What the parent gets of an output is bounded as a text is, and neither is
// changed on the way to the model.
func TestOutputsAreShownAsTheyAreUpToTheLimit(t *testing.T) {
	const small = `{"html":"<b>&"}`
	text, err := shown([]Result{{Status: Completed, Output: json.RawMessage(small), Text: small}})
	if err != nil || !strings.HasSuffix(string(text), `"output":`+small+`}`) {
		t.Errorf("%s %v", text, err)
	}
	big := json.RawMessage(`"` + strings.Repeat("x", maxShown) + `"`)
	text, err = shown([]Result{{Status: Completed, Output: big}})
	if err != nil || len(text) > maxShown+200 || !strings.HasSuffix(string(text), `xx [cut off]"}`) {
		t.Errorf("%d bytes %v", len(text), err)
	}
}

func TestAnOutputOverItsLimitIsNotChecked(t *testing.T) {
	s, err := compile(json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output(s, `"`+strings.Repeat("x", maxOutput)+`"`); err == nil || !strings.Contains(err.Error(), "the limit is 65536") {
		t.Error(err)
	}
}

// Of a key that stands twice only what was checked counts, nothing of the first.
func TestAKeyThatStandsTwiceHidesNoReference(t *testing.T) {
	for _, text := range []string{
		`{"not":{"$ref":"#"},"not":{}}`,
		`{"allOf":[{"$ref":"#"}],"allOf":[{}]}`,
		`{"properties":{"a":{"$ref":"#"}},"properties":{"b":{}}}`,
	} {
		s, err := compile(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(s.Schema()); err != nil || strings.Contains(string(got), "$ref") {
			t.Errorf("%s is read as %s %v", text, got, err)
		}
	}
}
