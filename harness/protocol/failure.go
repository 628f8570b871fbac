package protocol

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mikan/harness"
)

// Failure makes the error of a refusal: an HTTP status with its body, or, with
// status 0, the error object that a stream ended with.
func (g Guard) Failure(status int, header http.Header, body []byte) *harness.ModelError {
	said := parseRefusal(body)
	kind := status
	if status == 0 {
		kind = said.status()
	}
	text := clean(g.redact(said.text)) // before it is cut: half a key is told by no comparison
	if text == "" {
		text = http.StatusText(status)
	}
	if text == "" {
		text = "the server gave no reason"
	}
	if kind == http.StatusUnauthorized {
		text += "; check the provider's key"
	}
	e := g.sentence(trouble(kind, said, body), status, text)
	e.RetryAfter = RetryAfter(header, time.Now())
	return e
}

// trouble sorts a refusal. Only a server's own words make it an overflow: a
// body that is too large or missing says nothing about the context.
func trouble(status int, said refusal, body []byte) harness.Trouble {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired,
		said.is("insufficient_quota", "billing_error", "invalid_api_key"):
		return harness.Denied
	case status == http.StatusTooManyRequests, status == 529, said.is("overloaded_error", "rate_limit_error", "rate_limit_exceeded"):
		return harness.RateLimit
	case overflows(string(body)):
		return harness.Overflow
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500:
		return harness.Transient
	case status == 0: // a stream's error without a kind
		return harness.Transient
	}
	return harness.Refused
}

// overflowWords are the servers' own ways to say that a context does not fit.
var overflowWords = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`prompt is too long`,                         // Anthropic
	`input length and max_tokens exceed`,         // Anthropic
	`context[ _]length[ _]exceeded`,              // OpenAI, as a code; DeepSeek and OpenRouter repeat it
	`exceeds the context window`,                 // OpenAI
	`maximum context length is`,                  // OpenAI, vLLM, OpenRouter, DeepSeek
	`tokens exceed the configured limit`,         // OpenAI, of its newest models
	`maximum context length of`,                  // Mistral, SGLang
	`too large for model with`,                   // Mistral
	`maximum model length`,                       // vLLM, of a prompt that is longer
	`longer than the model's context length`,     // SGLang
	`inputs must have less than \d+ tokens`,      // text-generation-inference
	`exceeds the available context size`,         // llama.cpp
	`exceed_context_size_error`,                  // llama.cpp, as a type
	`context size has been exceeded`,             // llama.cpp, in the midst of an answer
	`greater than the context length`,            // LM Studio
	`exceeded max context length`,                // Ollama
	`input token count.{0,40}exceeds the maxim`,  // Gemini
	`maximum prompt length is`,                   // xAI
	`reduce the length of the messages`,          // Groq
	`context window exceeds limit`,               // MiniMax
	`exceeded model token limit`,                 // Moonshot
	`input is too long for requested model`,      // Bedrock, behind a gateway
	`prompt token count.{0,40}exceeds the limit`, // GitHub's models
	`model_context_window_exceeded`,              // Z.ai
	`range of input length should be`,            // Qwen
}, "|"))

func overflows(body string) bool {
	return overflowWords.MatchString(strings.ReplaceAll(body, "`", ""))
}

// refusal is what a body says, in any of the shapes that servers use.
type refusal struct {
	text  string
	kinds []string // its type and code
}

func (r refusal) is(kinds ...string) bool {
	for _, k := range kinds {
		for _, have := range r.kinds {
			if have == k {
				return true
			}
		}
	}
	return false
}

// status is the HTTP status that stands for an error which came in a stream.
func (r refusal) status() int {
	for _, k := range r.kinds {
		if n, err := strconv.Atoi(k); err == nil && n >= 400 && n < 600 {
			return n
		}
		switch k {
		case "invalid_request_error", "request_too_large", "invalid_prompt":
			return http.StatusBadRequest
		case "authentication_error":
			return http.StatusUnauthorized
		case "permission_error":
			return http.StatusForbidden
		case "not_found_error":
			return http.StatusNotFound
		case "rate_limit_error", "rate_limit_exceeded":
			return http.StatusTooManyRequests
		case "overloaded_error", "server_is_overloaded", "slow_down":
			return 529
		}
	}
	return 0
}

// parseRefusal reads {"error":{"message","type","code"}}, {"error":"text"},
// {"message"} and {"detail"}, an array with one of these, or plain text.
func parseRefusal(body []byte) refusal {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message any             `json:"message"`
		Detail  any             `json:"detail"`
	}
	if json.Unmarshal(body, &outer) != nil {
		if strings.HasPrefix(strings.TrimSpace(string(body)), "<") {
			return refusal{} // a page
		}
		return refusal{text: string(body)}
	}
	var inner struct {
		Message string `json:"message"`
		Type    any    `json:"type"`
		Code    any    `json:"code"`
	}
	var plain string
	switch {
	case json.Unmarshal(outer.Error, &inner) == nil && outer.Error != nil:
		return refusal{inner.Message, append(word(inner.Type), word(inner.Code)...)}
	case json.Unmarshal(outer.Error, &plain) == nil && plain != "":
		return refusal{text: plain}
	}
	for _, v := range []any{outer.Message, outer.Detail} {
		if s, ok := v.(string); ok && s != "" {
			return refusal{text: s}
		}
	}
	return refusal{}
}

// word is v as a type or code, if it is one.
func word(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	}
	return nil
}

// clean makes one printable line of at most 500 characters.
func clean(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if r := []rune(s); len(r) > 500 {
		return string(r[:500]) + "…"
	}
	return s
}

// RetryAfter is how long after now a server wants to be left alone, from the
// headers Retry-After-Ms and Retry-After (seconds or a date); 0 if it does not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return duration(s, time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// duration is n units, at most a day; nonsense is 0.
func duration(n float64, unit time.Duration) time.Duration {
	if math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(math.Min(n*float64(unit), float64(24*time.Hour)))
}
