package models

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// tokenServer gives each refresh token's successor once.
type tokenServer struct {
	url  string
	life int // of an access token, in seconds

	mu       sync.Mutex
	n        int // the newest pair of tokens
	refused  int
	requests []string      // their bodies
	hold     chan struct{} // if not nil, an answer waits for it
	asked    chan struct{} // gets a value for each request
	status   int           // of every answer, if not 0; with body
	body     string
}

func accessToken(n int) string  { return fmt.Sprintf("%s-access-%d", canary, n) }
func refreshToken(n int) string { return fmt.Sprintf("%s-refresh-%d", canary, n) }

func newTokenServer(t *testing.T) *tokenServer {
	s := &tokenServer{life: 3600, asked: make(chan struct{}, 1000)}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	s.url = h.URL + "/token"
	return s
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.asked <- struct{}{}
	if s.hold != nil {
		<-s.hold
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, string(body))
	w.Header().Set("Content-Type", "application/json")
	switch {
	case s.status != 0:
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
	case r.FormValue("grant_type") != "refresh_token" || r.FormValue("client_id") != "client" || r.FormValue("refresh_token") != refreshToken(s.n):
		s.refused++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"invalid_grant","error_description":"unknown token `+r.FormValue("refresh_token")+`"}`)
	default:
		s.n++
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": accessToken(s.n), "refresh_token": refreshToken(s.n), "expires_in": s.life, "token_type": "bearer"})
	}
}

// counts returns how many requests there were, and how many of them were refused.
func (s *tokenServer) counts() (requests, refused int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests), s.refused
}

// entry is the login of a lab, as an auth.json holds it.
func (s *tokenServer) entry(expires time.Time) string {
	return fmt.Sprintf(`{"type": "oauth", "access": %q, "refresh": %q, "expires": %d, "tokenUrl": %q, "clientId": "client"}`,
		accessToken(0), refreshToken(0), expires.UnixMilli(), s.url)
}
