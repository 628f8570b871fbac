package modeltest

import (
	"fmt"
	"strings"
	"testing"
)

// NewOpenAI starts a server of the Chat Completions API.
func NewOpenAI(t testing.TB, script ...Turn) *Server {
	return start(t, openAI{}, "/v1", script)
}

type openAI struct{}

func (openAI) path() string { return "/v1/chat/completions" }

// maxBody is the documented limit of what a request may weigh with its images.
func (openAI) maxBody() (int, string) { return 50 << 20, "Request Entity Too Large" }

func (openAI) refusal(_ int, text string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error","param":null,"code":null}}`, quote(text))
}

func (openAI) stream(t Turn, pieces func(string) []string) string {
	var b strings.Builder
	chunk := func(choices, more string) {
		fmt.Fprintf(&b, `data: {"id":"chatcmpl-test","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]%s}`+"\n\n", choices, more)
	}
	delta := func(format string, args ...any) {
		chunk(fmt.Sprintf(`{"index":0,"delta":{%s},"finish_reason":null}`, fmt.Sprintf(format, args...)), "")
	}

	b.WriteString(": a comment, as OpenRouter sends them\n\n")
	delta(`"role":"assistant","content":""`)
	for _, p := range pieces(t.Thinking) {
		delta(`"reasoning_content":%s`, quote(p))
	}
	for _, p := range pieces(t.Text) {
		delta(`"content":%s`, quote(p))
	}
	rest := make([][]string, len(t.Calls)) // pieces of arguments, which come in turns
	for i, c := range t.Calls {
		index := i
		if c.Index != nil {
			index = *c.Index
		}
		at := fmt.Sprintf(`"index":%d,`, index)
		if c.NoIndex {
			at = ""
		}
		id, extra, first := "", "", ""
		if c.ID != "" {
			id = `"id":` + quote(c.ID) + `,`
		}
		if c.Signature != "" {
			extra = `,"extra_content":{"google":{"thought_signature":` + quote(c.Signature) + `}}`
		}
		if c.Whole {
			first = c.Arguments
		}
		delta(`"tool_calls":[{%s%s"type":"function","function":{"name":%s,"arguments":%s}%s}]`, at, id, quote(c.Name), quote(first), extra)
		if c.Whole {
			continue
		}
		for _, p := range pieces(c.Arguments) {
			piece := fmt.Sprintf(`"tool_calls":[{%s"function":{"arguments":%s}}]`, at, quote(p))
			if at == "" {
				delta("%s", piece) // nothing but the order says whose it is
			} else {
				rest[i] = append(rest[i], piece)
			}
		}
	}
	for n, more := 0, true; more; n++ {
		more = false
		for _, pieces := range rest {
			if n < len(pieces) {
				delta("%s", pieces[n])
				more = true
			}
		}
	}
	if t.Error != "" {
		fmt.Fprintf(&b, "data: %s\n\n", t.Error)
		return b.String()
	}
	stop := t.Stop
	switch {
	case stop != "":
	case len(t.Calls) > 0:
		stop = "tool_calls"
	default:
		stop = "stop"
	}
	chunk(fmt.Sprintf(`{"index":0,"delta":{},"finish_reason":%q}`, stop), "")
	u := t.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	chunk("", fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}}`,
		prompt, u.Output, prompt+u.Output, u.CacheRead, u.CacheWrite))
	b.WriteString("data: [DONE]\n\n")
	return b.String()
}
