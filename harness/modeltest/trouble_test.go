package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"mikan/harness"
	"mikan/harness/anthropic"
	"mikan/harness/modeltest"
	"mikan/harness/openai"
	"mikan/harness/responses"
	"mikan/wire"
)

func TestFault_C3_only_the_server_s_own_words_make_an_overflow(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   harness.Trouble
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}`, harness.Overflow},
		{400, `{"error":{"message":"input length and ` + "`max_tokens`" + ` exceed context limit: 188240 + 21333 > 200000"}}`, harness.Overflow},
		{400, `{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}`, harness.Overflow},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, harness.Overflow},
		{400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, harness.Overflow},
		{400, `{"error":"prompt too long; exceeded max context length by 4 tokens"}`, harness.Overflow},
		{400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, harness.Overflow},
		{400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 333333 tokens. Please reduce the length of the messages."}}`, harness.Overflow},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens.\"}}","provider_name":"x"}}}`, harness.Overflow},
		{400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, harness.Overflow},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, harness.Overflow},
		{400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}`, harness.Overflow},
		{400, `{"error":{"message":"Requested token count exceeds the model's maximum context length of 4096 tokens."}}`, harness.Overflow},
		{400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt"}`, harness.Overflow},
		{400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length"}`, harness.Overflow},
		{500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, harness.Overflow},
		{400, `{"error":{"message":"Range of input length should be [1, 129024]","type":"invalid_request_error"}}`, harness.Overflow},
		{413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, harness.RateLimit},
		{413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, harness.Refused},
		{413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, harness.Refused},
		{400, ``, harness.Refused},
		{400, `{"error":{"message":"messages: text content blocks must be non-empty"}}`, harness.Refused},
		{404, `{"error":{"message":"no such model"}}`, harness.Refused},
		{413, ``, harness.Refused},
		{413, `{"error":{"message":"Request exceeds the maximum size"}}`, harness.Refused},
		{422, `{"detail":"nope"}`, harness.Refused},
		{429, `{"error":{"message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute; prompt is too long"}}`, harness.RateLimit},
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}`, harness.Denied},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, harness.RateLimit},
		{401, `{"error":{"message":"invalid x-api-key"}}`, harness.Denied},
		{403, `<html>forbidden</html>`, harness.Denied},
		{500, `oops`, harness.Transient},
		{502, `<html><body>Bad Gateway</body></html>`, harness.Transient},
		{503, ``, harness.Transient},
		{302, ``, harness.Refused},
	} {
		each(t, func(t *testing.T, a api) {
			s := a.server(t, modeltest.Turn{Status: c.status, Body: c.body, Header: map[string]string{"Retry-After": "7", "Location": "http://127.0.0.1:1/steal"}})
			_, _, _, err := ask(t, a, s, user("go"))
			var e *harness.ModelError
			if !errors.As(err, &e) || e.Trouble != c.want || e.Status != c.status || e.RetryAfter != 7*time.Second {
				t.Errorf("%d %s: %#v", c.status, c.body, err)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestStream_reads_errors_inside_the_stream(t *testing.T) {
	for _, c := range []struct {
		object string
		want   harness.Trouble
	}{
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, harness.RateLimit},
		{`{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, harness.Transient},
		{`{"error":{"code":429,"message":"Provider returned error"}}`, harness.RateLimit},
		{`{"error":{"code":502,"message":"Provider returned error"}}`, harness.Transient},
		{`{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`, harness.Overflow},
	} {
		each(t, func(t *testing.T, a api) {
			s := a.server(t, modeltest.Turn{Text: "half", Calls: []modeltest.Call{{ID: "c", Name: "bash", Arguments: `{"comm`}}, Error: c.object})
			m, _, _, err := ask(t, a, s, user("go"))
			var e *harness.ModelError
			if !errors.As(err, &e) || e.Trouble != c.want || e.Status != 0 {
				t.Errorf("%s: %#v", c.object, err)
			}
			if m.PlainText() != "half" || len(m.Calls()) != 0 || m.StopReason != wire.StopError || m.ErrorMessage == "" {
				t.Errorf("message %+v", m)
			}
		})
	}
}

func TestStream_that_breaks_off_is_transient_and_keeps_what_came(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for _, turn := range []modeltest.Turn{
			{Text: strings.Repeat("word ", 300), BreakAfter: 2000},
			{Stream: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word\"}}]}\n\nevent: message_start\ndata: {\"type\":\"message_start\"}\n\n"},
			{Stream: "event: message_start\ndata: {\"type\n\n"},
			{Stream: "\n"},
		} {
			s := a.server(t, turn)
			s.Split = modeltest.Words
			m, text, _, err := ask(t, a, s, user("go"))
			var e *harness.ModelError
			if !errors.As(err, &e) || e.Trouble != harness.Transient {
				t.Errorf("%#v", err)
			}
			if m.PlainText() != text || turn.Text != "" && text == "" {
				t.Errorf("emitted %q, kept %q", text, m.PlainText())
			}
		}
	})
}

func TestStream_ends_with_the_context_while_the_server_sends_nothing(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for _, turn := range []modeltest.Turn{{Hang: true}, {Text: strings.Repeat("word ", 300), HangAfter: 2000}} {
			s := a.server(t, turn)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-s.Hung()
				cancel()
			}()
			m, err := a.dial(s, client(t)).Stream(ctx, harness.Request{Model: a.model, Messages: []wire.Message{user("go")}}, func(harness.Delta) {})
			if !errors.Is(err, context.Canceled) || m.StopReason != wire.StopAborted {
				t.Errorf("%v, %+v", err, m)
			}
		}
	})
}

func TestStream_cannot_reach_the_server(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := &modeltest.Server{URL: "http://127.0.0.1:1/" + canary}
		_, _, _, err := ask(t, a, s, user("go"))
		var e *harness.ModelError
		if !errors.As(err, &e) || e.Trouble != harness.Transient || !strings.Contains(e.Text, "cannot reach 127.0.0.1:1") || strings.Contains(e.Text, canary) {
			t.Errorf("%#v", err)
		}
	})
}

func TestStream_knows_a_page_from_a_stream(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Status: 200, Header: map[string]string{"Content-Type": "text/html"}, Body: "<html>login</html>"})
		_, _, _, err := ask(t, a, s, user("go"))
		if err == nil || !strings.Contains(err.Error(), "is the base URL right?") {
			t.Error(err)
		}
	})
}

func TestFault_H3_a_call_that_was_cut_off_by_the_length_is_returned_as_it_came(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		stop := map[string]string{"anthropic": "max_tokens", "openai": "length", "responses": "max_output_tokens"}[a.name]
		s := a.server(t, modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "bash", Arguments: `{"command":"cat <<E`}}, Stop: stop})
		m, _, _, err := ask(t, a, s, user("go"))
		if err != nil || m.StopReason != wire.StopLength || len(m.Calls()) != 1 || string(m.Calls()[0].Arguments) != `{"command":"cat <<E` {
			t.Errorf("%v %+v", err, m)
		}
	})
}

func TestStream_without_arguments_gives_an_empty_object(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Calls: []modeltest.Call{{ID: "c", Name: "bash"}}})
		m, _, _, err := ask(t, a, s, user("go"))
		if err != nil || string(m.Calls()[0].Arguments) != "{}" {
			t.Errorf("%v %+v", err, m)
		}
	})
}

func TestFault_S3_the_key_is_in_the_header_and_nowhere_else(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t,
			modeltest.Turn{Status: 401, Body: `{"error":{"message":"Incorrect API key provided: ` + canary + `."}}`},
			modeltest.Turn{Status: 500, Body: canary},
			modeltest.Turn{Error: `{"type":"error","error":{"type":"x","message":"` + canary + `"}}`},
		)
		for range 3 {
			m, _, _, err := ask(t, a, s, user("go"))
			out, _ := json.Marshal(m)
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), canary) {
					t.Errorf("the key is in %q", e)
				}
			}
			if err == nil || strings.Contains(string(out), canary) {
				t.Errorf("%v %s", err, out)
			}
		}
		r := s.Requests()[0]
		if !strings.Contains(r.Header.Get("Authorization")+r.Header.Get("X-Api-Key"), canary) || strings.Contains(string(r.Body), canary) {
			t.Errorf("header %v", r.Header)
		}
	})
}

func TestProviders_read_nothing_from_the_environment(t *testing.T) {
	for k, v := range map[string]string{
		"ANTHROPIC_API_KEY": "wrong", "ANTHROPIC_AUTH_TOKEN": "wrong", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_CUSTOM_HEADERS": "X-Wrong: 1",
		"OPENAI_API_KEY": "wrong", "OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_ORG_ID": "wrong", "OPENAI_PROJECT_ID": "wrong", "OPENAI_CUSTOM_HEADERS": "X-Wrong: 1",
	} {
		t.Setenv(k, v)
	}
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Text: "a"}, modeltest.Turn{Text: "a"})
		keyless := api{a.name, a.server, map[string]func(*modeltest.Server, *http.Client) harness.Provider{
			"anthropic": func(s *modeltest.Server, c *http.Client) harness.Provider {
				return anthropic.New(anthropic.Options{BaseURL: s.URL, Client: c})
			},
			"openai": func(s *modeltest.Server, c *http.Client) harness.Provider {
				return openai.New(openai.Options{BaseURL: s.URL, Client: c})
			},
			"responses": func(s *modeltest.Server, c *http.Client) harness.Provider {
				return responses.New(responses.Options{BaseURL: s.URL, Client: c})
			},
		}[a.name], a.model}
		for _, a := range []api{a, keyless} {
			if _, _, _, err := ask(t, a, s, user("go")); err != nil {
				t.Fatal(err)
			}
		}
		for _, r := range s.Requests() {
			for k, v := range r.Header {
				if strings.Contains(strings.Join(v, " "), "wrong") || k == "X-Wrong" {
					t.Errorf("%s: %s", k, v)
				}
			}
		}
	})
}
