package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"mikan/harness"
	"mikan/wire"
)

func TestRetryAfter_reads_seconds_milliseconds_and_dates(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "35", 35 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After", "Mon, 30 Nov 2026 12:01:00 GMT", time.Minute},
		{"Retry-After", "Mon, 30 Nov 2026 11:00:00 GMT", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 24 * time.Hour},
		{"Retry-After", "soon", 0},
		{"X", "", 0},
	} {
		if got := RetryAfter(http.Header{c.key: {c.value}}, now); got != c.want {
			t.Errorf("%s: %s is %v, want %v", c.key, c.value, got, c.want)
		}
	}
	both := http.Header{"Retry-After-Ms": {"20"}, "Retry-After": {"3"}}
	if got := RetryAfter(both, now); got != 20*time.Millisecond {
		t.Error(got)
	}
}

func TestFailure_is_one_sentence_with_the_server_s_words(t *testing.T) {
	g := Guard{Provider: "lab", Secrets: []string{"sk-secret", "x"}}
	for body, want := range map[string]string{
		`{"error":{"message":"no such model"}}`: "lab: HTTP 404: no such model",
		`{"error":"plain"}`:                     "lab: HTTP 404: plain",
		`{"message":"m"}`:                       "lab: HTTP 404: m",
		`{"detail":"d"}`:                        "lab: HTTP 404: d",
		`{"detail":[{"loc":1}]}`:                "lab: HTTP 404: Not Found",
		`[{"error":{"message":"in a list"}}]`:   "lab: HTTP 404: in a list",
		"two\nlines\x1b[31m":                    "lab: HTTP 404: two lines [31m",
		"<html><body>a page</body></html>":      "lab: HTTP 404: Not Found",
		"":                                      "lab: HTTP 404: Not Found",
		`{"error":{"message":"your key sk-secret is bad"}}`: "lab: HTTP 404: your key [key] is bad",
	} {
		if got := g.Failure(404, nil, []byte(body)).Error(); got != want {
			t.Errorf("%q: %q, want %q", body, got, want)
		}
	}
	if got := g.Failure(0, nil, nil).Error(); got != "lab: the server gave no reason" {
		t.Error(got)
	}
}

func FuzzFailure(f *testing.F) {
	f.Add(400, `{"error":{"message":"m","type":"t","code":429}}`)
	f.Add(0, `[{"error":{"code":"context_length_exceeded"}}]`)
	f.Add(500, `{"error":null,"message":5}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := Guard{Provider: "p", Secrets: []string{"sk-secret"}}.Failure(status, nil, []byte(body))
		if !strings.HasPrefix(e.Text, "p: ") || len([]rune(e.Text)) > 600 || !utf8.ValidString(e.Text) ||
			strings.ContainsFunc(e.Text, unicode.IsControl) || strings.Contains(e.Text, "sk-secret") {
			t.Errorf("%q", e.Text)
		}
	})
}

func TestBroken_keeps_the_context_s_error_and_one_that_is_known(t *testing.T) {
	g := Guard{Provider: "p"}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Broken(gone, io.ErrUnexpectedEOF); err != context.Canceled {
		t.Error(err)
	}
	known := &harness.ModelError{Trouble: harness.Denied}
	if err := g.Broken(t.Context(), fmt.Errorf("wrapped: %w", known)); err != known {
		t.Error(err)
	}
	var e *harness.ModelError
	if err := g.Broken(t.Context(), nil); !errors.As(err, &e) || e.Trouble != harness.Transient || e.Text != "p: the answer broke off" {
		t.Error(err)
	}
}

func TestPrepare_does_not_touch_what_it_is_given(t *testing.T) {
	picture := wire.Part{Type: wire.Image, Data: "broken"}
	msgs := []wire.Message{
		{Role: wire.User, Content: []wire.Part{picture, wire.TextPart("a\x00")}},
		{Role: wire.User, Content: []wire.Part{wire.TextPart("b")}},
	}
	out := Prepare(harness.Request{Messages: msgs, Model: harness.Model{Input: []string{"text", "image"}}})
	if msgs[0].Content[0].Data != "broken" || msgs[0].Content[1].Text != "a\x00" || len(msgs[0].Content) != 2 {
		t.Errorf("%+v", msgs)
	}
	if len(out) != 1 || fmt.Sprint(out[0].PlainText()) != "[image left out: not a whole PNG, JPEG, GIF or WebP file]a\uFFFDb" {
		t.Errorf("%+v", out)
	}
}

func TestFault_H5_signatures_go_back_only_to_the_model_and_the_API_that_they_came_from(t *testing.T) {
	model := harness.Model{Provider: "p", ID: "m", API: "a"}
	for _, c := range []struct {
		provider, model, api string
		kept                 bool
	}{{"p", "m", "a", true}, {"p", "m", "", true}, {"p", "m", "b", false}, {"p", "n", "a", false}, {"q", "m", "a", false}} {
		out := Prepare(harness.Request{Model: model, Messages: []wire.Message{
			{Role: wire.User, Content: []wire.Part{wire.TextPart("q")}},
			{Role: wire.Assistant, Provider: c.provider, Model: c.model, API: c.api, Content: []wire.Part{
				{Type: wire.Thinking, Thinking: "t", ThinkingSignature: "sig"},
				{Type: wire.Text, Text: "x", TextSignature: "sig"},
				{Type: wire.ToolCall, ID: "c", Name: "n", ThoughtSignature: "sig"},
			}},
		}})
		if got := strings.Count(fmt.Sprintf("%+v", out), "sig"); (got == 3) != c.kept || (got == 0) == c.kept {
			t.Errorf("%+v: %d signatures in %+v", c, got, out)
		}
	}
}
