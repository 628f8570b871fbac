package mcp

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// webServer is a good server over HTTP that wants the key, behind a handler that
// may misbehave.
func webServer(t *testing.T, wrap func(good http.Handler) http.HandlerFunc) (Config, *httptest.Server) {
	t.Helper()
	s := newServerForTests()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	good := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer canary-4711" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	srv := httptest.NewServer(wrap(good))
	t.Cleanup(func() {
		for session := range s.Sessions() {
			session.Close()
		}
		srv.CloseClientConnections()
		srv.Close()
	})
	return Config{Name: "web", URL: srv.URL, Headers: map[string]string{"authorization": "Bearer canary-4711"}}, srv
}

func honest(good http.Handler) http.HandlerFunc { return good.ServeHTTP }

func TestWeb_callsTools(t *testing.T) {
	c, _ := webServer(t, honest)
	l := newLab(t, Options{}, c)
	l.start()
	r, err := l.call(ctx(t), "mcp__web__echo", `{"text":"hello, my key is canary-4711"}`, quiet)
	if err != nil || said(r) != "hello, my key is [SECRET:authorization]" {
		t.Errorf("%q, %v, %v", said(r), err, l.Status())
	}
	name, written := fifo(t)
	args, _ := json.Marshal(map[string]string{"text": name})
	stopping, stop := context.WithCancel(ctx(t))
	begun := time.Now()
	_, err = l.call(stopping, "mcp__web__slow", string(args), func(string) { begun = time.Now(); stop() })
	if took := time.Since(begun); err == nil || took > time.Second {
		t.Errorf("a stopped call ended after %v: %v", took, err)
	}
	if got := take(t, written, len("cancelled")); got != "cancelled" {
		t.Errorf("the server was told %q", got)
	}
}

func TestWeb_refusedIsSaidWithoutTheKey(t *testing.T) {
	c, _ := webServer(t, honest)
	c.Headers["authorization"] = "Bearer canary-wrong"
	l := newLab(t, Options{}, c)
	l.start()
	if got := l.status("web").String(); !strings.Contains(got, "Unauthorized") || strings.Contains(got, "canary") {
		t.Error(got)
	}
}

func TestWeb_headersDoNotGoElsewhere(t *testing.T) {
	var asked atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer elsewhere.Close()
	c, _ := webServer(t, func(http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}
	})
	l := newLab(t, Options{}, c)
	l.start()
	if got := l.status("web").String(); asked.Load() != 0 || !strings.Contains(got, "sends us on to") {
		t.Errorf("%d requests went elsewhere; %s", asked.Load(), got)
	}
}

func TestFault_P4_aWebServerThatMisbehavesKeepsNobodyWaiting(t *testing.T) {
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the client has gone
		<-r.Context().Done()
	}
	for name, wrap := range map[string]func(http.Handler) http.HandlerFunc{
		"hangs": func(http.Handler) http.HandlerFunc { return hang },
		"garbage": func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }
		},
		"endless": func(http.Handler) http.HandlerFunc {
			return func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				for line := strings.Repeat(" ", 1<<16); ; {
					if _, err := io.WriteString(w, line); err != nil {
						return
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := webServer(t, wrap)
			l := newLab(t, Options{Wait: 200 * time.Millisecond, Start: 5 * time.Second}, c)
			begun := time.Now()
			l.start()
			if took := time.Since(begun); took > time.Second || len(l.names()) > 0 {
				t.Errorf("waited for %v, tools %v", took, l.names())
			}
			begun = time.Now()
			l.Close()
			if took := time.Since(begun); took > 2*time.Second {
				t.Errorf("closing took %v", took)
			}
		})
	}
}

// A server that holds back the stream on which it would speak unasked is still
// good for all else.
func TestWeb_theStreamMayBeHeldBack(t *testing.T) {
	c, _ := webServer(t, func(good http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			old(good).ServeHTTP(w, r)
		}
	})
	l := newLab(t, Options{}, c)
	l.start()
	if r, err := l.call(ctx(t), "mcp__web__echo", `{"text":"hello"}`, quiet); err != nil || said(r) != "hello" {
		t.Errorf("%q, %v, %v", said(r), err, l.Status())
	}
}

// old is a server that does not know of server/discover, and so has such a
// stream.
func old(good http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		good.ServeHTTP(w, r)
	})
}

func TestWeb_connectsAnewWhenTheSessionIsLost(t *testing.T) {
	var lost atomic.Bool
	c, _ := webServer(t, func(good http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if lost.Load() {
				http.Error(w, "session not found", http.StatusNotFound)
				return
			}
			old(good).ServeHTTP(w, r)
		}
	})
	l := newLab(t, Options{Retry: time.Millisecond}, c)
	l.start()
	lost.Store(true)
	if _, err := l.call(ctx(t), "mcp__web__echo", `{"text":"x"}`, quiet); err == nil {
		t.Error("a lost session answers")
	}
	lost.Store(false)
	for len(l.names()) > 0 || l.status("web").State != Connected {
		s := l.servers[0]
		s.mu.Lock()
		news, gone := s.news, s.link == nil
		s.mu.Unlock()
		if gone {
			l.start()
			break
		}
		<-news
	}
	if r, err := l.call(ctx(t), "mcp__web__echo", `{"text":"x"}`, quiet); err != nil || said(r) != "x" {
		t.Errorf("%q, %v, %v", said(r), err, l.Status())
	}
}
