package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestToolName(t *testing.T) {
	for _, c := range []struct{ server, tool, want string }{
		{"git", "create_issue", "mcp__git__create_issue"},
		{"my-server", "a.b", "mcp__my-server__a_b_"},
		{"a", "b__c", "mcp__a__b__c"},
		{"a__b", "c", "mcp__a__b__c_"},
		{"x", strings.Repeat("long", 30), "mcp__x__longlong"},
		{"x", "", "mcp__x___"},
	} {
		got := toolName(c.server, c.tool)
		digested := strings.HasSuffix(c.want, "_") || len(c.tool) > maxName
		if !strings.HasPrefix(got, c.want) || !digested && got != c.want {
			t.Errorf("%s, %s: %s", c.server, c.tool, got)
		}
	}
}

// Every name is one that providers take, the same each time, and no two tools
// have the same.
func TestToolName_law(t *testing.T) {
	fits := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	servers := rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,63}`)
	tools := rapid.OneOf(rapid.StringMatching(`[a-z_./ äé-]{0,12}`), rapid.StringN(0, 100, -1), rapid.StringMatching(`[ab_]{1,4}_[0-9a-f]{12}`))
	rapid.Check(t, func(t *rapid.T) {
		s1, t1 := servers.Draw(t, "server"), tools.Draw(t, "tool")
		s2, t2 := servers.Draw(t, "other server"), tools.Draw(t, "other tool")
		if rapid.Bool().Draw(t, "cut elsewhere") {
			if whole := s1 + "__" + t1; strings.Count(whole, "__") > 1 {
				i := strings.LastIndex(whole, "__")
				s2, t2 = whole[:i], whole[i+2:]
			}
		}
		a, b := toolName(s1, t1), toolName(s2, t2)
		if !fits.MatchString(a) || a != toolName(s1, t1) {
			t.Fatalf("%q", a)
		}
		if a == b && (s1 != s2 || t1 != t2) {
			t.Fatalf("%q,%q and %q,%q are both %s", s1, t1, s2, t2, a)
		}
	})
}

func fitted(t *testing.T, schema string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(schema), &v); err != nil {
		t.Fatal(err)
	}
	text, ok := fitSchema(v)
	if !ok {
		t.Fatalf("%s is too large", schema)
	}
	return string(text)
}

func TestSchema_isMadeToFit(t *testing.T) {
	const empty = `{"properties":{},"type":"object"}`
	for _, c := range []struct{ name, in, want string }{
		{"nothing", `null`, empty},
		{"true", `true`, empty},
		{"no properties", `{"type":"object"}`, empty},
		{"another type", `{"type":"string"}`, empty},
		{"kept", `{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":["a"],"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"a":{"description":"d","type":"string"}},"required":["a"],"type":"object"}`},
		{"required that is not there", `{"properties":{"a":{}},"required":["a","a","b",7]}`, `{"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{"names", `{"properties":{"a b":{},"$ok":{},"c":{}}}`, `{"properties":{"c":{}},"type":"object"}`},
		{"other drafts", `{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","properties":{"n":{"type":"any","exclusiveMinimum":true,"minimum":1,"required":true,"minLength":-1}}}`,
			`{"properties":{"n":{"minimum":1}},"type":"object"}`},
		{"array", `{"properties":{"a":{"type":"array"},"b":{"type":["array","null","x"],"items":[{"type":"string"}]}}}`,
			`{"properties":{"a":{"items":{},"type":"array"},"b":{"type":["array","null"]}},"type":"object"}`},
		{"bool", `{"properties":{"a":true,"b":false}}`, `{"properties":{"a":{}},"type":"object"}`},
		{"choice at the top", `{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}]}`,
			`{"properties":{"a":{"type":"string"},"b":{}},"type":"object"}`},
		{"reference at the top", `{"$ref":"#/definitions/X","definitions":{"X":{"type":"object","properties":{"a":{"$ref":"http://elsewhere"}}}}}`,
			`{"definitions":{"X":{"properties":{"a":{}},"type":"object"}},"properties":{"a":{}},"type":"object"}`},
	} {
		if diff := cmp.Diff(c.want, fitted(t, c.in)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if _, ok := fitSchema(map[string]any{"description": strings.Repeat("x", maxSchema)}); ok {
		t.Error("a schema that is too large is taken")
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#/$defs/b"}]}},"required":["a"],"$defs":{"b":{"type":"array"}}}`))
	f.Add([]byte(`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if json.Unmarshal(data, &v) != nil {
			return
		}
		text, ok := fitSchema(v)
		if !ok {
			return
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil || got["type"] != "object" {
			t.Fatalf("%s: %v", text, err)
		}
		again, ok := fitSchema(got)
		if !ok || string(again) != string(text) {
			t.Fatalf("what fits is changed: %s to %s", text, again)
		}
		for key := range got {
			if slices.Contains([]string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref"}, key) {
				t.Fatalf("%s at the top of %s", key, text)
			}
		}
	})
}

// Whatever a server prints is read to its end, in bounded memory, and gives
// messages or an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\nhello\n\n[1,2]\n{\"jsonrpc\":"))
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := stdio{&process{lines: bufio.NewReader(bytes.NewReader(data)), stderr: &tail{}}}
		for range len(data) + 2 {
			m, err := s.Read(context.Background())
			if err != nil {
				return
			}
			if m == nil {
				t.Fatal("neither a message nor an error")
			}
		}
		t.Fatal("there are more messages than bytes")
	})
}

func FuzzClip(f *testing.F) {
	f.Add("héllo", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 3 {
			return
		}
		if got := clip(s, n); len(got) > n || strings.ToValidUTF8(s, "") == s && strings.ToValidUTF8(got, "") != got {
			t.Fatalf("%q", got)
		}
	})
}
