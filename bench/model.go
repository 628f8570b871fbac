package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"
)

// model is a server of the Chat Completions API that says when it was asked and
// when it had answered.
type model struct {
	*httptest.Server
	asked, answered chan time.Time
}

func newModel() *model {
	m := &model{asked: make(chan time.Time, 1), answered: make(chan time.Time, 1)}
	m.Server = httptest.NewServer(http.HandlerFunc(m.answer))
	return m
}

func (m *model) answer(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	_, _ = io.Copy(io.Discard, r.Body)
	m.asked <- at
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for _, choice := range []string{
		`{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`,
		`{"index":0,"delta":{"content":"an answer"},"finish_reason":null}`,
		`{"index":0,"delta":{},"finish_reason":"stop"}`,
	} {
		fmt.Fprintf(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[%s]}`+"\n\n", choice)
		_ = out.Flush()
	}
	fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`+"\n\ndata: [DONE]\n\n")
	m.answered <- time.Now()
}

// files are the settings and the models.json that choose the model.
func (m *model) files() (settings, models string) {
	return `{"llm": {"provider": "bench", "model": "m"}}` + "\n",
		fmt.Sprintf(`{"providers": {"bench": {"baseUrl": %q, "api": "openai-completions", "apiKey": "none", "models": [{"id": "m"}]}}}`+"\n", m.URL+"/v1")
}
