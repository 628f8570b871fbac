package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// labModels is a models.json with a provider "lab" at an address.
func labModels(address string) string {
	return `{"providers": {"lab": {"baseUrl": "` + address + `", "api": "openai-responses", "models": [{"id": "a"}]}}}`
}

// call asks the lab's model and returns the bearer token that was sent, empty if
// none was.
func call(t *testing.T, r *Registry, s *modeltest.Server) (string, error) {
	t.Helper()
	m, _, err := r.Find("lab/a")
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provider(t.Context(), m)
	if err != nil {
		return "", err
	}
	s.Then(modeltest.Turn{Text: "ok"})
	before := len(s.Requests())
	msg, err := p.Stream(t.Context(), harness.Request{Model: m, Messages: []wire.Message{{Role: wire.User, Content: []wire.Part{wire.TextPart("q")}}}}, func(harness.Delta) {})
	if (err != nil) != (msg.StopReason == wire.StopError) || msg.Usage == nil {
		t.Errorf("%v %+v", err, msg)
	}
	if len(s.Requests()) == before {
		return "", err
	}
	return strings.TrimPrefix(s.Requests()[before].Header.Get("Authorization"), "Bearer "), err
}

func TestLogin_is_used_while_it_is_fresh_and_renewed_before_it_ends(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	for _, c := range []struct {
		expires  time.Duration
		want     string
		requests int
	}{{time.Hour, accessToken(0), 0}, {time.Minute, accessToken(1), 1}, {-time.Hour, "", 0}} {
		tokens.n, tokens.requests = 0, nil
		if c.want == "" {
			tokens.status, tokens.body = 503, "down"
			c.requests = 2
		}
		r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + tokens.entry(time.Now().Add(c.expires)) + `}`}, nil)
		for range 2 {
			got, err := call(t, r, s)
			var e *harness.ModelError
			if got != c.want || (err != nil) != (c.want == "") || err != nil && (!errors.As(err, &e) || e.Trouble != harness.Transient) {
				t.Errorf("%v: %q, %v", c.expires, got, err)
			}
		}
		if n, _ := tokens.counts(); n != c.requests {
			t.Errorf("%v: the token server was asked %d times", c.expires, n)
		}
		if m, _, err := r.Find("lab/a"); err != nil || !r.Ready(m) {
			t.Error("the model is not ready")
		}
	}
}

func TestLogin_is_written_at_once_through_links_and_nothing_else_changes(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	elsewhere, dir := t.TempDir(), t.TempDir()
	text := "{\n  \"groq\" : {\"type\":\"api_key\", \"key\": \"\\u0041 & <b>\" },\n\n" +
		"\t\"lab\": {\"type\": \"oauth\", \"scopes\": [\"a\",\n\"b\"], \"refresh\" :  \"" + refreshToken(0) + "\", \"account\": 1.50e3, " +
		"\"tokenUrl\": \"" + tokens.url + "\", \"clientId\": \"client\", \"access\":\"old\",\"x\":{\"access\":\"mine\"}},\n" +
		"  \"other\": {\"type\": \"oauth\", \"access\": \"keep\", \"deep\": {\"expires\": 1}}\n}\n"
	target := filepath.Join(elsewhere, "logins.json")
	for name, data := range map[string]string{target: text, filepath.Join(dir, "models.json"): labModels(s.URL)} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(target, filepath.Join(elsewhere, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(elsewhere, "link"), filepath.Join(dir, "auth.json")); err != nil {
		t.Fatal(err)
	}
	before, err := os.Open(target) // what is read meanwhile is the old or the new file, whole
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	r, err := Load(Options{StateDir: dir, Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := call(t, r, s); err != nil || got != accessToken(1) {
		t.Fatal(got, err)
	}
	if old, err := io.ReadAll(before); err != nil || string(old) != text {
		t.Errorf("the old file became %s, %v", old, err)
	}
	data, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	c := parsed(t, data)["lab"].login
	want := strings.NewReplacer(`"access":"old"`, `"access":"`+accessToken(1)+`"`, refreshToken(0), refreshToken(1),
		`"lab": {`, fmt.Sprintf(`"lab": {"expires": %d, `, int64(c.Expires))).Replace(text)
	if string(data) != want {
		t.Errorf("%s\nwant %s", data, want)
	}
	if until := time.Until(time.UnixMilli(int64(c.Expires))); until < 50*time.Minute || until > time.Hour {
		t.Errorf("it ends in %v", until)
	}
	for _, link := range []string{filepath.Join(elsewhere, "link"), filepath.Join(dir, "auth.json")} {
		if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
			t.Errorf("%s: %v %v", link, info, err)
		}
	}
	if info, err := os.Stat(target); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	files, err := os.ReadDir(elsewhere)
	if err != nil || len(files) != 3 { // the file, the link and the lock
		t.Errorf("left behind: %v, %v", files, err)
	}
}

func parsed(t *testing.T, data []byte) map[string]*credential {
	t.Helper()
	auth, err := parseAuth("auth.json", data)
	if err != nil {
		t.Fatal(err)
	}
	return auth
}

func TestLogin_that_is_refused_says_what_to_do_and_is_not_tried_again_until_there_is_a_new_one(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	tokens.n = 7 // someone else has used the token
	r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + tokens.entry(time.Now()) + `}`}, nil)
	file := filepath.Join(r.stateDir, "auth.json")
	for range 2 {
		_, err := call(t, r, s)
		var e *harness.ModelError
		if !errors.As(err, &e) || e.Trouble != harness.Denied || !strings.Contains(e.Text, "lab: the login in "+file+" is no longer accepted (") || !strings.Contains(e.Text, "log in again") {
			t.Errorf("%#v", err)
		}
	}
	if n, _ := tokens.counts(); n != 1 {
		t.Errorf("the token server was asked %d times", n)
	}
	again := strings.Replace(`{"lab": `+tokens.entry(time.Now())+`}`, refreshToken(0), refreshToken(7), 1)
	if err := os.WriteFile(file, []byte(again), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := call(t, r, s); err != nil || got != accessToken(8) {
		t.Errorf("%q %v", got, err)
	}
}

func TestLogin_that_cannot_be_renewed_says_why(t *testing.T) {
	s := modeltest.NewResponses(t)
	for entry, want := range map[string]string{
		`{"type": "oauth", "access": "a", "expires": 1}`:                 "has ended; log in again",
		`{"type": "oauth", "access": "a", "refresh": "b", "expires": 1}`: `needs a "tokenUrl" and a "clientId"`,
		`{"type": "oauth", "access": "a"}`:                               "", // a token that does not say when it ends
	} {
		r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + entry + `}`}, nil)
		m, _, err := r.Find("lab/a")
		if err != nil || r.Ready(m) != (want == "") {
			t.Errorf("%s: ready %v, %v", entry, r.Ready(m), err)
		}
		if _, err := call(t, r, s); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

func TestLogin_that_cannot_be_kept_is_not_renewed(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + tokens.entry(time.Now()) + `}`}, nil)
	// Modes would not stop root; a directory in the place of the lock does.
	if err := os.Mkdir(filepath.Join(r.stateDir, "auth.json.lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := call(t, r, s); err == nil || !strings.Contains(err.Error(), "auth.json.lock") {
		t.Error(err)
	}
	if n, _ := tokens.counts(); n != 0 {
		t.Errorf("the token server was asked %d times", n)
	}
}

func TestLogin_is_not_lost_when_the_run_is_stopped_while_it_is_renewed(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	tokens.hold = make(chan struct{})
	r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + tokens.entry(time.Now()) + `}`}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := r.logins.token(ctx, "lab")
		first <- err
	}()
	<-tokens.asked
	go func() {
		_, err := r.logins.token(ctx, "lab")
		second <- err
	}()
	cancel()
	if err := <-second; err != context.Canceled { // who only waits does not wait on
		t.Error(err)
	}
	close(tokens.hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if got, err := call(t, r, s); err != nil || got != accessToken(1) {
		t.Errorf("%q %v", got, err)
	}
	data, err := os.ReadFile(filepath.Join(r.stateDir, "auth.json"))
	if err != nil || parsed(t, data)["lab"].login.Refresh != refreshToken(1) {
		t.Errorf("%s %v", data, err)
	}
}

func TestLogin_that_somebody_makes_while_the_old_one_is_renewed_stays(t *testing.T) {
	tokens := newTokenServer(t)
	tokens.hold = make(chan struct{})
	r := mustLoad(t, map[string]string{"auth.json": `{"lab": ` + tokens.entry(time.Now()) + `}`}, nil)
	renewed := make(chan error, 1)
	go func() {
		_, err := r.logins.token(t.Context(), "lab")
		renewed <- err
	}()
	<-tokens.asked
	again := strings.Replace(`{"lab": `+tokens.entry(time.Now())+`}`, refreshToken(0), "another", 1)
	if err := os.WriteFile(filepath.Join(r.stateDir, "auth.json"), []byte(again), 0o600); err != nil {
		t.Fatal(err)
	}
	close(tokens.hold)
	if err := <-renewed; err != nil {
		t.Error(err)
	}
	if data, err := os.ReadFile(filepath.Join(r.stateDir, "auth.json")); err != nil || string(data) != again {
		t.Errorf("%s %v", data, err)
	}
}

func TestFault_S3_tokens_are_in_no_error_and_nothing_that_is_printed(t *testing.T) {
	tokens, s := newTokenServer(t), modeltest.NewResponses(t)
	for _, c := range []struct {
		status int
		body   string
	}{
		{400, `{"error":"` + refreshToken(0) + `","error_description":"` + refreshToken(0) + `"}`},
		{400, refreshToken(0)}, {401, accessToken(0)}, {403, "<html>"}, {429, refreshToken(0)}, {500, `{"error":"` + refreshToken(0) + `"}`},
		{200, `{"access_token":["` + canary + `"]}`}, {200, `{"access_token":"` + canary + `\n"}`}, {200, `{"refresh_token":"` + canary + `"}`}, {200, canary}, {302, canary},
	} {
		tokens.status, tokens.body = c.status, c.body
		r := mustLoad(t, map[string]string{"models.json": labModels(s.URL), "auth.json": `{"lab": ` + tokens.entry(time.Now()) + `}`}, nil)
		_, err := call(t, r, s)
		var e *harness.ModelError
		if !errors.As(err, &e) {
			t.Errorf("%+v: %#v", c, err)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, canary) {
				t.Errorf("%+v: %s", c, text)
			}
		}
		for _, v := range []any{r.auth, r.auth["lab"], r.auth["lab"].login, r.logins.known} {
			if text := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(text, canary) {
				t.Error(text)
			}
		}
	}
}

func TestLogin_of_anthropic_is_a_bearer_token_and_renewed_in_JSON(t *testing.T) {
	s := modeltest.NewAnthropic(t, modeltest.Turn{Text: "ok"})
	r := mustLoad(t, map[string]string{
		"auth.json":   fmt.Sprintf(`{"anthropic": {"type": "oauth", "access": %q, "refresh": "r", "expires": %d}}`, canary, time.Now().Add(time.Hour).UnixMilli()),
		"models.json": `{"providers": {"anthropic": {"baseUrl": "` + s.URL + `"}}}`,
	}, map[string]string{"ANTHROPIC_API_KEY": "wrong"})
	m, _, err := r.Find("anthropic/claude-sonnet-4-6")
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Provider(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Stream(t.Context(), harness.Request{Model: m, Messages: []wire.Message{{Role: wire.User, Content: []wire.Part{wire.TextPart("q")}}}}, func(harness.Delta) {}); err != nil {
		t.Fatal(err)
	}
	if h := s.Requests()[0].Header; h.Get("Authorization") != "Bearer "+canary || h.Get("X-Api-Key") != "" || h.Get("Anthropic-Beta") == "" {
		t.Errorf("%v", h)
	}
	req, err := r.auth["anthropic"].login.request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var body map[string]string
	if err := json.NewDecoder(req.Body).Decode(&body); err != nil || body["refresh_token"] != "r" || body["client_id"] == "" || req.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v %v", body, err)
	}
}

func FuzzWithTokens(f *testing.F) {
	f.Add(`{"lab":{"type":"oauth","access":"a","refresh":"b","expires":1},"x":{"type":"oauth","access":"c"}}`, "n", "m")
	f.Add(`{"lab":{"type":"oauth","Access":"a"}}`, "\"\\", "ü")
	f.Add(`{ "x" : {"type":"api_key","key":"k"} , "lab" : { "type" : "oauth" , "refresh" : "b" } } `, "n", "")
	f.Fuzz(func(t *testing.T, text, access, refresh string) {
		before, err := parseAuth("f", []byte(text))
		if err != nil {
			return
		}
		data, err := withTokens("f", []byte(text), "lab", login{Access: access, Refresh: refresh, Expires: 99})
		if err != nil {
			return
		}
		after, err := parseAuth("f", data)
		if err != nil || len(after) != len(before) || after["lab"].login.Access != access || after["lab"].login.Refresh != refresh {
			t.Fatalf("%s became %s, %v", text, data, err)
		}
		var was, is map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &was) != nil || json.Unmarshal(data, &is) != nil {
			t.Fatal("no JSON")
		}
		for id := range was {
			if id != "lab" && !bytes.Equal(was[id], is[id]) {
				t.Errorf("%s became %s", was[id], is[id])
			}
		}
	})
}
