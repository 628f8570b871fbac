package harness

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `[]`, `"s"`, `null`, "{\"a\":\"\xff\\ud800\"}", ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, why := object(raw)
		var v map[string]any
		if err := json.Unmarshal(got, &v); err != nil || v == nil || !utf8.Valid(got) {
			t.Errorf("%q became %q", raw, got)
		}
		if again, _ := object(got); string(again) != string(got) {
			t.Errorf("%q became %q, then %q", raw, got, again)
		}
		if why != "" && string(got) != "{}" {
			t.Errorf("%q was refused and kept", raw)
		}
	})
}
