package modeltest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Turn is one scripted answer. The zero Turn is an empty one that ends at once.
type Turn struct {
	Thinking  string
	Signature string // of the thinking; with Anthropic and Responses, where it is the encrypted content
	Redacted  string // an opaque block of thinking; with the same
	Text      string
	Calls     []Call
	Usage     Usage
	Stop      string // the provider's own word; empty: what fits the content

	// Trouble. With Status the turn is a refusal, with Header and Body as they
	// are.
	Status int
	Header map[string]string
	Body   string
	// Error is an error object that ends the stream after the content.
	Error string
	// Hang sends nothing, not even a header, until the client has gone; HangAfter
	// does so after that many bytes of the stream, if it is not 0.
	Hang      bool
	HangAfter int
	// BreakAfter breaks the connection after that many bytes of the stream, if it
	// is not 0.
	BreakAfter int
	// Stream is sent as the whole stream, if it is not empty.
	Stream string
}

// Call is a tool call of a [Turn].
type Call struct {
	ID        string // empty: none is sent
	Name      string
	Arguments string // as the model writes them, whatever they are
	// Of OpenAI's protocol.
	NoIndex   bool   // the pieces have no index
	Signature string // Gemini's thought_signature
	Whole     bool   // the arguments come in one piece with the name
	Index     *int   // the index; nil: the call's place
}

// Usage is what a [Turn] says it cost, in tokens.
type Usage struct{ Input, Output, CacheRead, CacheWrite int }

// Request is what a server got.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
}

// Server is a scripted model server. It is closed at the end of the test.
type Server struct {
	URL string // the base URL for the provider
	// Split is how the streams are cut, and Terms what else requests are held
	// against; they may be set before the first request.
	Split Split
	// Otherwise, if it is set before the first request, makes the turns that the
	// script does not have. Requests that it answers are not kept.
	Otherwise func(Request) Turn
	Terms     Terms
	// Counts makes the usage of a turn what the server's cache of prompts makes it,
	// but for the output; it may be set before the first request.
	Counts bool

	protocol protocol
	mu       sync.Mutex
	script   []Turn
	requests []Request
	refusals []string
	usages   []Usage
	cache    cache
	hung     chan struct{} // gets a value for each turn that has begun to hang
	closed   chan struct{}
}

// protocol is what the APIs differ in.
type protocol interface {
	// path is where requests go.
	path() string
	// maxBody is how many bytes a request may have, and what is said of more.
	maxBody() (bytes int, text string)
	// check returns the text with which the real server would refuse a request.
	check(body []byte, terms Terms) string
	// refusal is the body of an answer with that status and text.
	refusal(status int, text string) string
	// cached counts the tokens of a request that nothing is wrong with.
	cached(c *cache, body []byte) Usage
	// stream is the whole stream of a turn.
	stream(t Turn, pieces func(string) []string) string
}

func start(t testing.TB, p protocol, base string, script []Turn) *Server {
	s := &Server{protocol: p, script: script, hung: make(chan struct{}, 64), closed: make(chan struct{})}
	h := httptest.NewServer(s)
	s.URL = h.URL + base
	t.Cleanup(func() {
		close(s.closed)
		h.CloseClientConnections()
		h.Close()
	})
	return s
}

// Then adds turns to the script.
func (s *Server) Then(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, turns...)
}

// Instead puts turns in the place of what is left of the script.
func (s *Server) Instead(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = turns
}

// Requests returns the requests that have come, refused ones too.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Refusals returns the texts with which requests were refused for a broken rule.
func (s *Server) Refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.refusals...)
}

// Usages returns what each answered request cost.
func (s *Server) Usages() []Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Usage(nil), s.usages...)
}

// Left is the number of turns that have not been played.
func (s *Server) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.script)
}

// Hung gets a value whenever a turn has begun to hang.
func (s *Server) Hung() <-chan struct{} { return s.hung }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the client has gone
	}
	if r.Method != http.MethodPost || r.URL.Path != s.protocol.path() {
		http.NotFound(w, r)
		return
	}
	turn, refusal := s.next(Request{r.URL.Path, r.Header.Clone(), body})
	switch {
	case refusal.text != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(refusal.status)
		_, _ = io.WriteString(w, s.protocol.refusal(refusal.status, refusal.text)) // a client that has gone is no concern
	case turn.Hang:
		s.hang(r)
	case turn.Status != 0:
		for k, v := range turn.Header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(turn.Status)
		_, _ = io.WriteString(w, turn.Body)
	default:
		s.play(w, r, turn)
	}
}

// next notes a request and takes the turn for it.
func (s *Server) next(r Request) (Turn, refusal) {
	no := s.Terms.refuse(s.protocol, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if no.text == "" && len(s.script) == 0 && s.Otherwise != nil {
		return s.Otherwise(r), no
	}
	s.requests = append(s.requests, r)
	if no.text == "" && len(s.script) == 0 {
		no.text = "modeltest: the script has no turn left"
	}
	if no.text != "" {
		s.refusals = append(s.refusals, no.text)
		return Turn{}, no
	}
	turn := s.script[0]
	s.script = s.script[1:]
	if s.Counts {
		u := s.protocol.cached(&s.cache, r.Body)
		u.Output = turn.Usage.Output
		turn.Usage = u
	}
	s.usages = append(s.usages, turn.Usage)
	return turn, refusal{}
}

func (s *Server) hang(r *http.Request) {
	select {
	case s.hung <- struct{}{}:
	default:
	}
	select {
	case <-r.Context().Done():
	case <-s.closed:
	}
}

func (s *Server) play(w http.ResponseWriter, r *http.Request, turn Turn) {
	stream := turn.Stream
	if stream == "" {
		stream = s.protocol.stream(turn, s.Split.pieces)
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	sent := 0
	for _, chunk := range s.Split.chunks(stream) {
		for _, limit := range []int{turn.BreakAfter, turn.HangAfter} {
			if limit > 0 && sent+len(chunk) > limit {
				chunk = chunk[:max(0, limit-sent)]
			}
		}
		_, _ = io.WriteString(w, chunk)
		_ = out.Flush()
		sent += len(chunk)
		switch {
		case turn.BreakAfter > 0 && sent >= turn.BreakAfter:
			panic(http.ErrAbortHandler) // ends the connection without an end of the body
		case turn.HangAfter > 0 && sent >= turn.HangAfter:
			s.hang(r)
			return
		}
	}
}
