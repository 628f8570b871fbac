package modeltest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// NewResponses starts a server of the Responses API.
func NewResponses(t testing.TB, script ...Turn) *Server {
	return start(t, &responsesAPI{reasonOf: map[string]string{}}, "/v1", script)
}

type responsesAPI struct {
	mu       sync.Mutex
	made     int               // items
	reasonOf map[string]string // by the id of an item, that of the reasoning that led to it
}

func (*responsesAPI) path() string { return "/v1/responses" }

func (*responsesAPI) maxBody() (int, string) { return openAI{}.maxBody() }

func (*responsesAPI) refusal(_ int, text string) string {
	return fmt.Sprintf(`{"error":{"message":%s,"type":"invalid_request_error","param":"input","code":null}}`, quote(text))
}

// id is a new id, of an item that the reasoning before it led to.
func (r *responsesAPI) id(prefix, reason string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made++
	id := fmt.Sprintf("%s_%048d", prefix, r.made)
	if reason != "" {
		r.reasonOf[id] = reason
	}
	return id
}

// responsesStream writes the events of one response.
type responsesStream struct {
	strings.Builder
	pieces func(string) []string
	events int
	index  int      // of the next item
	output []string // the items that are done
}

func (s *responsesStream) event(kind, format string, args ...any) {
	fmt.Fprintf(s, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d%s}\n\n", kind, kind, s.events, fmt.Sprintf(format, args...))
	s.events++
}

// deltas sends a text in pieces.
func (s *responsesStream) deltas(kind, at, text string) {
	for _, p := range s.pieces(text) {
		if p != "" {
			s.event(kind+".delta", `%s,"delta":%s,"obfuscation":"x"`, at, quote(p))
		}
	}
}

// done ends an item.
func (s *responsesStream) done(at, item string) {
	s.event("response.output_item.done", `%s,"item":%s`, at, item)
	s.output = append(s.output, item)
	s.index++
}

func (r *responsesAPI) stream(t Turn, pieces func(string) []string) string {
	s := &responsesStream{pieces: pieces}
	response := func(status, more string) string {
		return fmt.Sprintf(`,"response":{"id":"resp_test","object":"response","created_at":1,"status":%q,"model":"m","output":[%s]%s}`,
			status, strings.Join(s.output, ","), more)
	}
	s.event("response.created", "%s", response("in_progress", `,"error":null,"usage":null`))
	s.event("response.in_progress", "%s", response("in_progress", `,"error":null,"usage":null`))
	reason := ""
	if t.Thinking != "" {
		reason = r.id("rs", "")
		s.reasoning(reason, t.Thinking, t.Signature)
	}
	if t.Redacted != "" {
		reason = r.id("rs", "")
		s.reasoning(reason, "", t.Redacted)
	}
	if t.Text != "" {
		s.message(r.id("msg", reason), t.Text)
	}
	for _, c := range t.Calls {
		s.call(r.id("fc", reason), c)
	}
	if t.Error != "" {
		fmt.Fprintf(s, "event: error\ndata: %s\n\n", t.Error)
		return s.String()
	}
	u := t.Usage
	prompt := u.Input + u.CacheRead + u.CacheWrite
	usage := fmt.Sprintf(`,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d},`+
		`"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d}`, prompt, u.CacheRead, u.CacheWrite, u.Output, prompt+u.Output)
	if t.Stop != "" {
		s.event("response.incomplete", "%s", response("incomplete", fmt.Sprintf(`,"error":null,"incomplete_details":{"reason":%q}`, t.Stop)+usage))
	} else {
		s.event("response.completed", "%s", response("completed", `,"error":null,"incomplete_details":null`+usage))
	}
	return s.String()
}

// reasoning is an item of thoughts; encrypted is what the model itself gets back.
func (s *responsesStream) reasoning(id, summary, encrypted string) {
	at := fmt.Sprintf(`,"output_index":%d`, s.index)
	s.event("response.output_item.added", `%s,"item":{"id":%q,"type":"reasoning","summary":[]}`, at, id)
	list := ""
	if summary != "" {
		of := fmt.Sprintf(`%s,"item_id":%q,"summary_index":0`, at, id)
		s.event("response.reasoning_summary_part.added", `%s,"part":{"type":"summary_text","text":""}`, of)
		s.deltas("response.reasoning_summary_text", of, summary)
		s.event("response.reasoning_summary_text.done", `%s,"text":%s`, of, quote(summary))
		list = `{"type":"summary_text","text":` + quote(summary) + `}`
		s.event("response.reasoning_summary_part.done", `%s,"part":%s`, of, list)
	}
	content := ""
	if encrypted != "" {
		content = `,"encrypted_content":` + quote(encrypted)
	}
	s.done(at, fmt.Sprintf(`{"id":%q,"type":"reasoning"%s,"summary":[%s]}`, id, content, list))
}

func (s *responsesStream) message(id, text string) {
	at := fmt.Sprintf(`,"output_index":%d`, s.index)
	of := fmt.Sprintf(`%s,"item_id":%q,"content_index":0`, at, id)
	s.event("response.output_item.added", `%s,"item":{"id":%q,"type":"message","status":"in_progress","content":[],"role":"assistant"}`, at, id)
	s.event("response.content_part.added", `%s,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`, of)
	s.deltas("response.output_text", of+`,"logprobs":[]`, text)
	s.event("response.output_text.done", `%s,"logprobs":[],"text":%s`, of, quote(text))
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quote(text) + `}`
	s.event("response.content_part.done", `%s,"part":%s`, of, part)
	s.done(at, fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","content":[%s],"role":"assistant"}`, id, part))
}

func (s *responsesStream) call(id string, c Call) {
	at := fmt.Sprintf(`,"output_index":%d`, s.index)
	switch {
	case c.NoIndex:
		at = ""
	case c.Index != nil:
		at = fmt.Sprintf(`,"output_index":%d`, *c.Index)
	}
	of := fmt.Sprintf(`%s,"item_id":%q`, at, id)
	callID := ""
	if c.ID != "" {
		callID = `,"call_id":` + quote(c.ID)
	}
	item := func(status, args string) string {
		return fmt.Sprintf(`{"id":%q,"type":"function_call","status":%q,"arguments":%s%s,"name":%s}`, id, status, quote(args), callID, quote(c.Name))
	}
	s.event("response.output_item.added", `%s,"item":%s`, at, item("in_progress", ""))
	if !c.Whole {
		s.deltas("response.function_call_arguments", of, c.Arguments)
	}
	s.event("response.function_call_arguments.done", `%s,"arguments":%s`, of, quote(c.Arguments))
	s.done(at, item("completed", c.Arguments))
}
