package wire

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseLine(t *testing.T) {
	for _, c := range []struct {
		where Where
		line  string
		verb  string
		args  []string
	}{
		{AtOffice, "prompt  what's   2+2?  ", "prompt", []string{"what's   2+2?"}},
		{AtSession, "stop", "stop", nil},
		{AtOffice, "stop\tall", "stop", []string{"all"}},
		{AtOffice, "fork 'it''s me'", "fork", []string{"it's me"}},
		{AtOffice, "new ''", "new", []string{""}},
		{AtSession, "fork 0000002a side", "fork", []string{"0000002a", "side"}},
		{AtSession, "label  0000002a   it's  good ", "label", []string{"0000002a", "it's  good"}},
		{AtSession, "label 0000002a", "label", []string{"0000002a"}},
		{AtRoot, "debug on", "debug", []string{"on"}},
	} {
		l, err := ParseLine(c.where, c.line)
		if err != nil || l.Verb != c.verb || !slices.Equal(l.Args, c.args) {
			t.Errorf("%q: %+v, %v", c.line, l, err)
		}
	}
	for line, say := range map[string]string{
		"stpo":          "unknown verb \"stpo\" (did you mean stop?); the verbs here are prompt, steer,",
		"what is this":  "unknown verb \"what\"",
		"":              "unknown verb",
		"prompt":        "usage: prompt text",
		"prompt   ":     "usage: prompt text",
		"stop a b":      "usage: stop [session|all]",
		"fork 'a":       "a quote is not closed",
		"fork a b c":    "usage: fork [entry] name",
		"label":         "usage: label entry [text]",
		"shutdown":      "unknown verb",
		"model a/b c/d": "usage: model provider/model[:level]",
	} {
		if _, err := ParseLine(AtOffice, line); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %s", line, err, say)
		}
	}
}

func TestNames_escape_and_back(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.String().Draw(rt, "id")
		if id == "" {
			return
		}
		for _, name := range []string{EscapeName(id), SessionName(id)} {
			if strings.ContainsAny(name, "/\x00\n") || name[0] == '.' || name == ReadmeName {
				rt.Fatalf("%q is no name", name)
			}
		}
		if back, ok := UnescapeName(EscapeName(id)); !ok || back != id {
			rt.Fatalf("%q is read back as %q, %v", id, back, ok)
		}
		if back, ok := SessionSuffix(SessionName(id)); !ok || back != id || SessionName(id) == MainSession {
			rt.Fatalf("%q is read back as %q, %v", id, back, ok)
		}
	})
	for _, bad := range []string{"", "%", "%6", "%zz", "%6d", "%6Dx", "a/b", ".x", "README", "a%2fb"} {
		if id, ok := UnescapeName(bad); ok {
			t.Errorf("%q is taken for %q", bad, id)
		}
		if id, ok := SessionSuffix(bad); ok {
			t.Errorf("the session %q is taken for %q", bad, id)
		}
	}
	if EscapeName("main") != "main" || SessionName("main") != "%6Dain" || SessionName("") != "main" {
		t.Errorf("main is %q, %q", EscapeName("main"), SessionName("main"))
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"stpo": "stop", "promt": "prompt", "xyzzy": "", "s": "", "thinkng": "thinking"} {
		if got := Nearest(word, []string{"prompt", "stop", "thinking"}); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add("prompt hi")
	f.Add("fork 'a''b' c")
	f.Fuzz(func(t *testing.T, line string) {
		for _, w := range []Where{AtRoot, AtOffice, AtSession} {
			l, err := ParseLine(w, line)
			if err == nil && !slices.ContainsFunc(VerbsAt(w), func(v Verb) bool { return v.Name == l.Verb }) {
				t.Fatalf("%q became %+v", line, l)
			}
		}
	})
}
