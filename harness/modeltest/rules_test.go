package modeltest_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// rule is a request that breaks one rule, and words of the server's refusal.
type rule struct {
	name, body, want string
	terms            modeltest.Terms
	status           int // 0: 400
}

// holds checks that a server refuses each request for its own reason.
func holds(t *testing.T, server func(testing.TB, ...modeltest.Turn) *modeltest.Server, path, good string, rules []rule) {
	t.Helper()
	post := func(t *testing.T, body string, terms modeltest.Terms) (int, string) {
		s := server(t, modeltest.Turn{Text: "ok"})
		s.Terms = terms
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := client(t).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, strings.ReplaceAll(string(text), `\u003e`, ">")
	}
	if code, text := post(t, good, modeltest.Terms{}); code != http.StatusOK {
		t.Fatalf("a good request: %d %s", code, text)
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			want := r.status
			if want == 0 {
				want = http.StatusBadRequest
			}
			if code, text := post(t, r.body, r.terms); code != want || !strings.Contains(text, r.want) {
				t.Errorf("%d %.300s\nwant %d %s\nto %.500s", code, text, want, r.want, r.body)
			}
		})
	}
}

// times repeats s, with its number in the place of #, separated by commas.
func times(n int, s string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(s, "#", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

// anthropicBody is a request with messages after the user's "q".
func anthropicBody(messages string, more ...string) string {
	head := strings.Join(append([]string{`"model":"m","max_tokens":4096,"stream":true`}, more...), ",")
	return `{` + head + `,"messages":[{"role":"user","content":[{"type":"text","text":"q"}]}` + messages + `]}`
}

func TestAnthropic_refuses_what_the_real_server_refuses(t *testing.T) {
	const (
		use    = `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`
		two    = `,{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]}`
		budget = `"thinking":{"type":"enabled","budget_tokens":1024}`
	)
	user := func(blocks string) string { return `,{"role":"user","content":[` + blocks + `]}` }
	says := func(blocks string) string {
		return `,{"role":"assistant","content":[` + blocks + `]}` + user(`{"type":"text","text":"go on"}`)
	}
	res := func(id string) string {
		return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":[{"type":"text","text":"r"}]}`, id)
	}
	asks := func(blocks string) string {
		return `,{"role":"assistant","content":[{"type":"text","text":"x"}]}` + user(blocks)
	}
	img := func(mime, data string) string { return anthropicBody(asks(image(mime, data))) }
	tool := `{"name":"n","input_schema":{"type":"object"}}`
	holds(t, modeltest.NewAnthropic, "/v1/messages", anthropicBody(two+user(res("a")+","+res("b")+`,{"type":"text","text":"t"},`+image("image/png", modeltest.PNG(2, 2))), `"tools":[`+tool+`]`), []rule{
		{name: "no JSON", body: "{", want: "not valid JSON"},
		{name: "no model", body: `{}`, want: "model: Field required"},
		{name: "no max_tokens", body: `{"model":"m"}`, want: "max_tokens: Input should be"},
		{name: "max_tokens over the model's", body: anthropicBody(""), terms: modeltest.Terms{MaxTokens: 100}, want: "max_tokens: 4096 > 100, which is the maximum allowed number of output tokens for m"},
		{name: "no messages", body: `{"model":"m","max_tokens":1,"stream":true,"messages":[]}`, want: "at least one message is required"},
		{name: "a small budget", body: anthropicBody("", `"thinking":{"type":"enabled","budget_tokens":5}`), want: "greater than or equal to 1024"},
		{name: "a budget over max_tokens", body: anthropicBody("", `"thinking":{"type":"enabled","budget_tokens":4096}`), want: "must be greater than `thinking.budget_tokens`"},
		{name: "a body over the cap", body: anthropicBody("", `"x":"`+strings.Repeat("x", 32<<20)+`"`), status: 413, want: `"type":"request_too_large","message":"Request exceeds the maximum size"`},
		{name: "a tool's name", body: anthropicBody("", `"tools":[{"name":"a b","input_schema":{}}]`), want: "tools.0.custom.name: String should match pattern"},
		{name: "a tool twice", body: anthropicBody("", `"tools":[`+tool+","+tool+`]`), want: "Tool names must be unique"},
		{name: "a tool without a schema", body: anthropicBody("", `"tools":[{"name":"n"}]`), want: "input_schema: Input should be a valid dictionary"},
		{name: "five marks of the cache", body: anthropicBody(user(""), `"system":[`+times(5, `{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}`)+`]`), want: "A maximum of 4 blocks with cache_control may be provided. Found 5."},
		{name: "a mark on thinking", body: anthropicBody(says(`{"type":"thinking","thinking":"t","signature":"s","cache_control":{"type":"ephemeral"}},{"type":"text","text":"x"}`)), want: "thinking.cache_control: Extra inputs are not permitted"},
		{name: "an empty system prompt", body: anthropicBody("", `"system":[{"type":"text","text":""}]`), want: "system: text content blocks must be non-empty"},
		{name: "a role", body: anthropicBody(`,{"role":"tool","content":[{"type":"text","text":"x"}]}`), want: "messages.1.role: Input should be 'user' or 'assistant'"},
		{name: "no content", body: anthropicBody(`,{"role":"assistant","content":[]}`), want: "messages.1: all messages must have non-empty content"},
		{name: "an assistant first", body: `{"model":"m","max_tokens":1,"stream":true,"messages":[{"role":"assistant","content":[{"type":"text","text":"x"}]}]}`, want: "first message must use"},
		{name: "two users", body: anthropicBody(user(`{"type":"text","text":"x"}`)), want: "roles must alternate"},
		{name: "an assistant last", body: anthropicBody(`,{"role":"assistant","content":[{"type":"text","text":"x"}]}`), want: "must end with a user message"},
		{name: "white space last", body: anthropicBody(`,{"role":"assistant","content":[{"type":"text","text":"x "}]}`), want: "cannot end with trailing whitespace"},
		{name: "an empty text", body: anthropicBody(says(`{"type":"text","text":""}`)), want: "text content blocks must be non-empty"},
		{name: "a blank text", body: anthropicBody(says(`{"type":"text","text":" \n"}`)), want: "must contain non-whitespace text"},
		{name: "an empty text in a result", body: anthropicBody(use + user(`{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":""}]}`)), want: "text content blocks must be non-empty"},
		{name: "an unknown block", body: anthropicBody(says(`{"type":"toolCall"}`)), want: "Input tag 'toolCall' found using 'type'"},
		{name: "a call of the user's", body: anthropicBody(asks(`{"type":"tool_use","id":"a","name":"n","input":{}}`)), want: "`tool_use` blocks can only be in `assistant` messages"},
		{name: "a result of the assistant's", body: anthropicBody(says(res("a"))), want: "`tool_result` blocks can only be in `user` messages"},
		{name: "arguments that are a list", body: anthropicBody(says(`{"type":"tool_use","id":"a","name":"n","input":[]}`)), want: "tool_use.input: Input should be a valid dictionary"},
		{name: "arguments that are null", body: anthropicBody(says(`{"type":"tool_use","id":"a","name":"n","input":null}`)), want: "tool_use.input: Input should be a valid dictionary"},
		{name: "an id with a bar", body: anthropicBody(says(`{"type":"tool_use","id":"a|b","name":"n","input":{}}`)), want: "tool_use.id: String should match pattern"},
		{name: "the name of a call", body: anthropicBody(says(`{"type":"tool_use","id":"a","name":"n n","input":{}}`)), want: "tool_use.name: String should match pattern"},
		{name: "an orphan", body: anthropicBody(asks(res("z"))), want: "unexpected `tool_use_id` found in `tool_result` blocks: z"},
		{name: "no result", body: anthropicBody(use + user(`{"type":"text","text":"x"}`)), want: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: a"},
		{name: "one of two results", body: anthropicBody(two + user(res("a"))), want: "immediately after: b"},
		{name: "a text before the result", body: anthropicBody(use + user(`{"type":"text","text":"x"},`+res("a"))), want: "immediately after: a"},
		{name: "a result too late", body: anthropicBody(use + user(`{"type":"text","text":"x"}`) + asks(res("a"))), want: "immediately after: a"},
		{name: "two results", body: anthropicBody(use + user(res("a")+","+res("a"))), want: "Found multiple `tool_result` blocks with id: a"},
		{name: "an id twice", body: anthropicBody(use + user(res("a")) + use + user(res("a"))), want: "`tool_use` ids must be unique"},
		{name: "thinking without a signature", body: anthropicBody(says(`{"type":"thinking","thinking":"t"},{"type":"text","text":"x"}`)), want: "thinking.signature: Field required"},
		{name: "thinking of another", body: anthropicBody(says(`{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"x"}`)), want: "messages.1.content.0: Invalid `signature` in `thinking` block"},
		{name: "redacted thinking of another", body: anthropicBody(says(`{"type":"redacted_thinking","data":"s"},{"type":"text","text":"x"}`)), want: "Invalid `data` in `redacted_thinking` block"},
		{name: "redacted thinking without data", body: anthropicBody(says(`{"type":"redacted_thinking"},{"type":"text","text":"x"}`)), want: "redacted_thinking.data: Field required"},
		{name: "thinking at the end", body: anthropicBody(says(`{"type":"text","text":"x"},{"type":"thinking","thinking":"t","signature":"s"}`)), want: "The final block in an assistant message cannot be `thinking`"},
		{name: "a turn that began without thinking", body: anthropicBody(use+user(res("a")), budget), want: "Expected `thinking` or `redacted_thinking`, but found `tool_use`"},
		{name: "an image for a model of text", body: img("image/png", modeltest.PNG(1, 1)), terms: modeltest.Terms{TextOnly: true}, want: "does not support image input"},
		{name: "an image of no type", body: img("image/tiff", modeltest.PNG(1, 1)), want: "media_type: Input should be 'image/jpeg'"},
		{name: "an image of another type", body: img("image/jpeg", modeltest.PNG(1, 1)), want: "image/jpeg media type, but the image appears to be of another type"},
		{name: "an image that is no base64", body: img("image/png", "%%%"), want: "invalid base64 data"},
		{name: "a torn image", body: img("image/png", modeltest.PNG(90, 90)[:80]), want: "Could not process image"},
		{name: "an image over 5 MB", body: img("image/png", strings.Repeat("A", 5<<20+4)), want: "image exceeds 5 MB maximum: 5242884 bytes > 5242880 bytes"},
		{name: "an image of 8001 pixels", body: img("image/png", modeltest.PNG(8001, 1)), want: "dimensions exceed max allowed size: 8000 pixels"},
		{name: "21 images, one of 2001 pixels", body: anthropicBody(asks(times(20, image("image/png", modeltest.PNG(1, 1))) + "," + image("image/png", modeltest.PNG(2001, 1)))), want: "many-image requests: 2000 pixels"},
		{name: "101 images", body: anthropicBody(asks(times(101, image("image/png", modeltest.PNG(1, 1))))), want: "too many images: 101 > 100"},
		{name: "an image in an error", body: anthropicBody(use + user(`{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[`+image("image/png", modeltest.PNG(1, 1))+`]}`)), want: "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true"},
		{name: "an image in a result", body: anthropicBody(use + user(`{"type":"tool_result","tool_use_id":"a","content":[`+image("image/png", "%%%")+`]}`)), want: "messages.2.content.0.tool_result.content.0.image.source.base64: invalid base64 data"},
	})
}

// image is a block of the Messages API.
func image(mime, data string) string {
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, mime, data)
}

func TestOpenAI_refuses_what_the_real_server_refuses(t *testing.T) {
	body := func(messages string, more ...string) string {
		head := strings.Join(append([]string{`"model":"m","stream":true`}, more...), ",")
		return `{` + head + `,"messages":[{"role":"user","content":"q"}` + messages + `]}`
	}
	call := func(id, name, args string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}`, id, name, args)
	}
	calls := func(list string) string {
		return `,{"role":"assistant","content":null,"tool_calls":[` + list + `]}`
	}
	res := func(id string) string { return fmt.Sprintf(`,{"role":"tool","tool_call_id":%q,"content":"r"}`, id) }
	img := func(url string) string {
		return body(fmt.Sprintf(`,{"role":"user","content":[{"type":"image_url","image_url":{"url":%q}}]}`, url))
	}
	tool := func(name string) string {
		return fmt.Sprintf(`{"type":"function","function":{"name":%q,"parameters":{"type":"object"}}}`, name)
	}
	png := "data:image/png;base64," + modeltest.PNG(2, 2)
	holds(t, modeltest.NewOpenAI, "/chat/completions", body(calls(call("a", "n", "{}")+","+call("b", "n", "{}"))+res("b")+res("a"), `"tools":[`+tool("n")+`]`), []rule{
		{name: "no JSON", body: "{", want: "could not parse the JSON body"},
		{name: "no model", body: `{}`, want: "you must provide a model parameter"},
		{name: "no messages", body: `{"model":"m","stream":true,"messages":[]}`, want: "Invalid 'messages': empty array"},
		{name: "no tokens", body: body("", `"max_tokens":0`), want: "integer below minimum value"},
		{name: "max_tokens over the model's", body: body("", `"max_completion_tokens":4096`), terms: modeltest.Terms{MaxTokens: 100}, want: "max_tokens is too large: 4096. This model supports at most 100 completion tokens"},
		{name: "two limits", body: body("", `"max_completion_tokens":1,"max_tokens":1`), want: "at the same time is not supported"},
		{name: "a body over the cap", body: body("", `"x":"`+strings.Repeat("x", 50<<20)+`"`), status: 413, want: "Request Entity Too Large"},
		{name: "a tool's name", body: body("", `"tools":[`+tool("a.b")+`]`), want: "Invalid 'tools[0].function.name': string does not match pattern"},
		{name: "a long name", body: body("", `"tools":[`+tool(strings.Repeat("n", 65))+`]`), want: "maximum length 64, but got a string with length 65"},
		{name: "a tool twice", body: body("", `"tools":[`+tool("n")+","+tool("n")+`]`), want: "duplicate function name n"},
		{name: "129 tools", body: body("", `"tools":[`+times(129, tool("n#"))+`]`), want: "maximum length 128, but got an array with length 129"},
		{name: "a tool without a schema", body: body("", `"tools":[{"type":"function","function":{"name":"n","parameters":[]}}]`), want: "Invalid schema for function 'n'"},
		{name: "a tool of no type", body: body("", `"tools":[{"function":{"name":"n","parameters":{}}}]`), want: "Missing required parameter: 'tools[0].type'"},
		{name: "a role", body: body(`,{"role":"toolResult","content":"x"}`), want: "Invalid value: 'toolResult'. Supported values are"},
		{name: "no content", body: body(`,{"role":"user","content":null}`), want: "expected a string, got null"},
		{name: "an empty assistant", body: body(`,{"role":"assistant","content":null}`), want: "expected a string, got null"},
		{name: "no calls", body: body(`,{"role":"assistant","content":"x","tool_calls":[]}`), want: "'messages[1].tool_calls': empty array"},
		{name: "a text over 10 MB", body: body(`,{"role":"user","content":"` + strings.Repeat("x", 10<<20+1) + `"}`), want: "Invalid 'messages[1].content': string too long"},
		{name: "a call without an id", body: body(calls(call("", "n", "{}"))), want: "Missing required parameter: 'messages[1].tool_calls[0].id'"},
		{name: "a long id", body: body(calls(call(strings.Repeat("i", 41), "n", "{}"))), want: "maximum length 40, but got a string with length 41"},
		{name: "the name of a call", body: body(calls(call("a", "n n", "{}"))), want: "tool_calls[0].function.name': string does not match pattern"},
		{name: "a call of no type", body: body(`,{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"n","arguments":"{}"}}]}`), want: "Missing required parameter: 'messages[1].tool_calls[0].type'"},
		{name: "arguments that are a list", body: body(calls(call("a", "n", "[]")) + res("a")), want: "is no JSON object"},
		{name: "an orphan", body: body(res("z")), want: "must be a response to a preceeding message with 'tool_calls'"},
		{name: "no id of a call", body: body(`,{"role":"tool","content":"r"}`), want: "Missing required parameter: 'messages[1].tool_call_id'"},
		{name: "no result", body: body(calls(call("a", "n", "{}"))), want: "The following tool_call_ids did not have response messages: a"},
		{name: "a user before the result", body: body(calls(call("a", "n", "{}")) + `,{"role":"user","content":"x"}` + res("a")), want: "did not have response messages: a"},
		{name: "one of two results", body: body(calls(call("a", "n", "{}")+","+call("b", "n", "{}")) + res("a")), want: "did not have response messages: b"},
		{name: "two results", body: body(calls(call("a", "n", "{}")) + res("a") + res("a")), want: "must be a response to a preceeding message"},
		{name: "an id twice", body: body(calls(call("a", "n", "{}")+","+call("a", "n", "{}")) + res("a")), want: "Duplicate value for 'tool_call_id' of 'a'"},
		{name: "an unknown part", body: body(`,{"role":"user","content":[{"type":"image"}]}`), want: "Invalid value: 'image'. Supported values are: 'text', 'image_url'"},
		{name: "a part without text", body: body(`,{"role":"user","content":[{"type":"text"}]}`), want: "Missing required parameter: 'messages[1].content[0].text'"},
		{name: "an image in a result", body: body(calls(call("a", "n", "{}")) + fmt.Sprintf(`,{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":%q}}]}`, png)), want: "only allowed for messages with role 'user', but this message with role 'tool'"},
		{name: "an image for a model of text", body: img(png), terms: modeltest.Terms{TextOnly: true}, want: "image_url is only supported by certain models"},
		{name: "a torn image", body: img("data:image/png;base64," + modeltest.PNG(90, 90)[:80]), want: "unsupported image"},
		{name: "an image of another type", body: img("data:image/gif;base64," + modeltest.PNG(1, 1)), want: "unsupported image"},
	})
}

func TestResponses_refuses_what_the_real_server_refuses(t *testing.T) {
	body := func(items string, more ...string) string {
		head := strings.Join(append([]string{`"model":"m","stream":true,"store":false`}, more...), ",")
		return `{` + head + `,"input":[{"role":"user","content":"q"}` + items + `]}`
	}
	call := func(id, name, args string) string {
		return fmt.Sprintf(`,{"type":"function_call","call_id":%q,"name":%q,"arguments":%q}`, id, name, args)
	}
	out := func(id string) string {
		return fmt.Sprintf(`,{"type":"function_call_output","call_id":%q,"output":"r"}`, id)
	}
	img := func(url string) string {
		return body(fmt.Sprintf(`,{"role":"user","content":[{"type":"input_image","image_url":%q}]}`, url))
	}
	tool := func(name string) string {
		return fmt.Sprintf(`{"type":"function","name":%q,"parameters":{"type":"object"}}`, name)
	}
	const reasoning = `,{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`
	long := strings.Repeat("i", 65)
	holds(t, modeltest.NewResponses, "/responses", body(reasoning+call("a", "n", "{}")+out("a"), `"tools":[`+tool("n")+`]`), []rule{
		{name: "no JSON", body: "{", want: "could not parse the JSON body"},
		{name: "no model", body: `{}`, want: "Missing required parameter: 'model'"},
		{name: "no input", body: `{"model":"m","stream":true,"store":false,"input":[]}`, want: "must be provided"},
		{name: "few tokens", body: body("", `"max_output_tokens":1`), want: "Expected a value >= 16, but got 1 instead"},
		{name: "tokens over the model's", body: body("", `"max_output_tokens":4096`), terms: modeltest.Terms{MaxTokens: 100}, want: "max_output_tokens is too large: 4096"},
		{name: "a body over the cap", body: body("", `"x":"`+strings.Repeat("x", 50<<20)+`"`), status: 413, want: "Request Entity Too Large"},
		{name: "a long key", body: body("", `"prompt_cache_key":"`+long+`"`), want: "Invalid 'prompt_cache_key': string too long"},
		{name: "a tool's name", body: body("", `"tools":[`+tool("a.b")+`]`), want: "Invalid 'tools[0].name': string does not match pattern"},
		{name: "a tool twice", body: body("", `"tools":[`+tool("n")+","+tool("n")+`]`), want: "duplicate function name n"},
		{name: "129 tools", body: body("", `"tools":[`+times(129, tool("n#"))+`]`), want: "maximum length 128, but got an array with length 129"},
		{name: "a tool without a schema", body: body("", `"tools":[{"type":"function","name":"n"}]`), want: "Invalid schema for function 'n'"},
		{name: "an unknown item", body: body(`,{"type":"tool_result"}`), want: "Invalid value: 'tool_result'. Supported values are"},
		{name: "a role", body: body(`,{"role":"tool","content":"x"}`), want: "Invalid value: 'tool'. Supported values are"},
		{name: "no content", body: body(`,{"role":"user","content":null}`), want: "expected one of an array of objects or string, but got null"},
		{name: "a part of another role", body: body(`,{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`), want: "Supported values are: 'output_text' and 'refusal'"},
		{name: "a text over 10 MB", body: body(`,{"role":"user","content":"` + strings.Repeat("x", 10<<20+1) + `"}`), want: "Invalid 'input[1].content': string too long"},
		{name: "a long item id", body: body(`,{"type":"message","role":"assistant","id":"msg_` + long + `","content":"x"}`), want: "Invalid 'input[1].id': string too long"},
		{name: "a strange item id", body: body(`,{"type":"message","role":"assistant","id":"msg|1","content":"x"}`), want: "Expected an ID that contains letters, numbers, underscores, or dashes"},
		{name: "an id of another kind", body: body(`,{"type":"message","role":"assistant","id":"fc_1","content":"x"}`), want: "Expected an ID that begins with 'msg'"},
		{name: "an item twice", body: body(strings.Repeat(`,{"type":"message","role":"assistant","id":"msg_1","content":"x"}`, 2)), want: "Duplicate item found with id msg_1"},
		{name: "a call without an id", body: body(call("", "n", "{}")), want: "Missing required parameter: 'input[1].call_id'"},
		{name: "a long call id", body: body(call(long, "n", "{}")), want: "Invalid 'input[1].call_id': string too long"},
		{name: "the name of a call", body: body(call("a", "n n", "{}")), want: "Invalid 'input[1].name': string does not match pattern"},
		{name: "arguments that are a string", body: body(call("a", "n", `"s"`) + out("a")), want: "is no JSON object"},
		{name: "no output", body: body(call("a", "n", "{}")), want: "No tool output found for function call a."},
		{name: "an orphan", body: body(out("z")), want: "No tool call found for function call output with call_id z."},
		{name: "an output before its call", body: body(out("a") + call("a", "n", "{}")), want: "No tool call found for function call output with call_id a."},
		{name: "two outputs", body: body(call("a", "n", "{}") + out("a") + out("a")), want: "No tool call found for function call output with call_id a."},
		{name: "a call id twice", body: body(call("a", "n", "{}") + out("a") + call("a", "n", "{}") + out("a")), want: "two function calls have the call_id a"},
		{name: "reasoning at the end", body: body(reasoning), want: "'rs_1' of type 'reasoning' was provided without its required following item"},
		{name: "reasoning before a user", body: body(reasoning + `,{"role":"user","content":"x"}`), want: "was provided without its required following item"},
		{name: "reasoning that was not kept", body: body(`,{"type":"reasoning","id":"rs_1","summary":[]}` + call("a", "n", "{}") + out("a")), want: "Items are not persisted when `store` is set to false"},
		{name: "reasoning without a summary", body: body(`,{"type":"reasoning","id":"rs_1","encrypted_content":"e"}` + call("a", "n", "{}") + out("a")), want: "Missing required parameter: 'input[1].summary'"},
		{name: "an image for a model of text", body: img("data:image/png;base64," + modeltest.PNG(1, 1)), terms: modeltest.Terms{TextOnly: true}, want: "image_url is only supported by certain models"},
		{name: "a torn image", body: img("data:image/png;base64," + modeltest.PNG(90, 90)[:80]), want: "does not represent a valid image"},
		{name: "an image of another type", body: img("data:image/gif;base64," + modeltest.PNG(1, 1)), want: "does not represent a valid image"},
	})
}

func TestAnthropic_wants_thinking_back_as_it_was(t *testing.T) {
	s := modeltest.NewAnthropic(t, modeltest.Turn{Thinking: "t", Signature: "s", Text: "x"}, modeltest.Turn{Text: "ok"})
	post := func(thinking string) (int, string) {
		t.Helper()
		body := anthropicBody(`,{"role":"assistant","content":[{"type":"thinking","thinking":"` + thinking +
			`","signature":"s"},{"type":"text","text":"x"}]},{"role":"user","content":[{"type":"text","text":"on"}]}`)
		if thinking == "" {
			body = anthropicBody("")
		}
		res, err := client(t).Post(s.URL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	post("")
	if code, text := post("t, changed"); code != http.StatusBadRequest || !strings.Contains(text, "cannot be modified") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := post("t"); code != http.StatusOK {
		t.Errorf("%d %s", code, text)
	}
}
