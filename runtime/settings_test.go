package runtime

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mikan/wire"
)

func TestSettings_bad_text_names_the_line(t *testing.T) {
	for _, c := range []struct {
		text string
		line int
		say  string
	}{
		{"", 1, "write {}"},
		{"[]", 1, "object"},
		{"{\n  \"llm\": {\n    \"modle\": \"x\"\n  }\n}", 3, "unknown key llm.modle (did you mean model?)"},
		{"{\n\"llm\": 5}", 2, "llm: want an object"},
		{"{\n\n\"llm\": {\"provider\": 5}}", 3, "llm.provider: want a string"},
		{"{\"llm\": {\n\"thinkingLevel\": \"hihg\"}}", 2, `"hihg": want off, minimal, low, medium, high, xhigh, max (did you mean high?)`},
		{"{\"llm\": {\"provider\": \"x\"}}", 1, "provider and model go together"},
		{"{\"budget\":\n{\"durationMs\": 9223372036854775807}}", 2, "budget.durationMs: want at most 31536000000, a year"},
		{"{\"budget\": {\"costUsd\":\n-0.5}}", 1, "budget.costUsd: want a number above 0"},
		{"{\n\"sandbox\": {\"cpus\": \"two\"}}", 2, `"two": want a number`},
		{"{\"sandbox\": {\"boost\": {\n\"memory\": \"4 gigs\"}}}", 2, `"4 gigs": want an amount`},
		{"{\"office\": {\"visibility\": \"public\"}}", 1, "want private"},
		{"{\"skills\": [\"x\"]}", 1, "begins with"},
		{"{\"llm\": {},\n\"llm\": {}}", 2, "twice"},
		{"{} x", 1, "after the closing brace"},
		{"{\"llm\": {", 1, "ends too early"},
		{"{\"mcpServers\": {\n\"a\": {\"args\": []}}}", 2, "either a command or a url"},
		{"{\"mcpServers\": {\n\"a\": {\"url\": \"wiki.example/mcp\"}}}", 2, "want http://"},
	} {
		_, err := ParseSettings("settings.json", []byte(c.text))
		var j *wire.JSONError
		if !errors.As(err, &j) || j.Line != c.line || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%q: error %v, want line %d and %q", c.text, err, c.line, c.say)
		}
	}
}

func TestSettings_office_over_daemon(t *testing.T) {
	parse := func(text string) Settings {
		s, err := ParseSettings("x", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	global := parse(`{"llm":{"provider":"a","model":"m","thinkingLevel":"high"},"slack":{"replyMode":"thread"},
		"sandbox":{"cpus":"1","boost":{"cpus":"2","memory":"4g"}},"mcpServers":{"x":{"command":"one"},"y":{"command":"two"}},"skills":["!a"]}`)
	own := parse(`{"llm":{"provider":"b","model":"n"},"sandbox":{"memory":"1g","boost":{"cpus":"8"}},"mcpServers":{"x":{"url":"http://z"}},"skills":["+b"]}`)
	want := parse(`{"llm":{"provider":"b","model":"n","thinkingLevel":"high"},"slack":{"replyMode":"thread"},
		"sandbox":{"cpus":"1","memory":"1g","boost":{"cpus":"8","memory":"4g"}},"mcpServers":{"x":{"url":"http://z"},"y":{"command":"two"}},"skills":["!a","+b"]}`)
	if diff := cmp.Diff(want, own.Over(global)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(global.MCPServers["x"], MCPServer{Command: "one"}); diff != "" {
		t.Error("merging changed the daemon's settings:", diff)
	}
}

func TestSettings_format_is_read_back(t *testing.T) {
	s, err := ParseSettings("x", []byte(`{"llm":{"provider":"demo","model":"echo"}}`))
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseSettings("x", s.format())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Error(diff)
	}
	if string(s.format()) != "{\n  \"llm\": {\n    \"provider\": \"demo\",\n    \"model\": \"echo\"\n  }\n}\n" {
		t.Errorf("format %q", s.format())
	}
}

func FuzzParseSettings(f *testing.F) {
	f.Add([]byte(`{"llm":{"provider":"demo","model":"echo"},"skills":["!x"]}`))
	f.Add([]byte("{\n\"a\": [{}, 1, null]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSettings("settings.json", data)
		if err != nil {
			return
		}
		if _, err := ParseSettings("settings.json", s.format()); err != nil {
			t.Fatalf("%q was taken, and what is written for it is not: %v", data, err)
		}
	})
}
