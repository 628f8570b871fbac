package wire

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestOpError_is_read_as_it_is_written(t *testing.T) {
	for _, e := range []OpError{
		{Text: "internal error"}, {Text: "channel_not_found", Final: true},
		{Text: "rate limited", RetryAfter: 35 * time.Second}, {Text: "a: b", RetryAfter: 1500 * time.Millisecond}, {},
	} {
		if got := ParseOpError(e.Error()); got != e {
			t.Errorf("%q is read as %+v", e.Error(), got)
		}
	}
	for text, want := range map[string]OpError{
		"retry-after 1s":        {RetryAfter: time.Second},
		"retry-after soon: x":   {Text: "retry-after soon: x"},
		"retry-after -1s: x":    {Text: "retry-after -1s: x"},
		"retry-after 9999h: x":  {Text: "x", RetryAfter: MaxRetryAfter},
		"finally: it is broken": {Text: "finally: it is broken"},
	} {
		if got := ParseOpError(text); got != want {
			t.Errorf("%q is read as %+v, want %+v", text, got, want)
		}
	}
}

func TestSessionKey_suffix_is_the_reverse(t *testing.T) {
	for _, x := range []struct {
		conversation, key, suffix string
		ok                        bool
	}{
		{"C1", "C1", "", true}, {"C1", "C1:7", "7", true}, {"DM:1", "DM:1", "", true}, {"DM:1", "DM:1:x:y", "x:y", true},
		{"C1", "C12", "", false}, {"C1", "C1:", "", false}, {"C1", "C2:7", "", false}, {"C1", "", "", false},
	} {
		suffix, ok := SessionKeySuffix(x.conversation, x.key)
		if ok != x.ok || ok && suffix != x.suffix {
			t.Errorf("%s of %s: %q, %v", x.key, x.conversation, suffix, ok)
		}
		if ok && SessionKey(x.conversation, suffix) != x.key {
			t.Errorf("%s is not made again", x.key)
		}
	}
}

// What passes the check has a session of its own conversation, whatever an
// adapter writes.
func FuzzInMessage(f *testing.F) {
	f.Add([]byte(`{"id":"1","conversation":"C1","ts":"1","user":"U","text":"x"}`))
	f.Add([]byte(`{"id":"1","conversation":"a:b","session":"a:b:c","ts":"1","user":"U","text":"x","kind":"direct","thread":"2"}`))
	f.Add([]byte(`{"id":"1","conversation":"C1","ts":"1","user":"U","change":"deleted","attachments":[{"name":"a","ref":"b"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m InMessage
		if DecodeJSON("message", data, &m) != nil || m.Check() != nil {
			return
		}
		m = m.Complete()
		suffix, ok := SessionKeySuffix(m.Conversation, m.Session)
		if !ok {
			t.Fatalf("%s: the session %q is not of the conversation", data, m.Session)
		}
		if back, ok := SessionSuffix(SessionName(suffix)); !ok || back != suffix {
			t.Fatalf("%s: the suffix %q has no name", data, suffix)
		}
		if again := m.Complete(); again.Session != m.Session || again.Reply != m.Reply || again.Kind != m.Kind {
			t.Fatalf("%s: completed twice it is another", data)
		}
	})
}

func TestCaps(t *testing.T) {
	c, err := ParseCaps([]byte(`{"ops":["post","history"],"keys":true,"maxText":4000,"trust":"membership","direct":true}`))
	if err != nil || !c.Has("post") || c.Has("react") || !c.ReadsBack() {
		t.Errorf("%+v, %v", c, err)
	}
	if c := (Caps{Keys: true, Ops: []string{"post"}}); c.ReadsBack() {
		t.Error("what has no history reads back")
	}
	for text, why := range map[string]string{
		`{"opps":[]}`:      "did you mean ops?",
		`{"ops":["psot"]}`: "did you mean post?",
		`{"trust":"x"}`:    "want membership or open-trigger",
		`{"maxText":-1}`:   "less than nothing",
		`[]`:               "want a JSON object",
	} {
		if _, err := ParseCaps([]byte(text)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
	if data, err := json.Marshal(Caps{}); err != nil || string(data) != "{}" {
		t.Errorf("no caps are written as %s, %v", data, err)
	}
}
