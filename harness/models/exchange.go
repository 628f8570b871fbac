package models

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"mikan/harness/protocol"
)

const (
	exchangeTime  = 20 * time.Second
	exchangeLimit = 64 << 10  // bytes of an answer
	defaultLife   = time.Hour // of a token that does not say
)

// exchange asks the token server for the next tokens of a login (RFC 6749,
// section 6). The error is a [*harness.ModelError] without a token in it.
func (l *logins) exchange(ctx context.Context, id string, have login) (login, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeTime)
	defer cancel()
	guard := protocol.Guard{Provider: id + ": renew the login", Secrets: []string{have.Access, have.Refresh}}
	status, header, body, err := l.post(ctx, have)
	switch {
	case err != nil && ctx.Err() != nil: // it is ours, and nobody else is to take it for his
		return login{}, guard.Broken(context.Background(), fmt.Errorf("%s has not answered in %v", host(have.TokenURL), exchangeTime))
	case err != nil:
		return login{}, guard.Broken(ctx, err)
	case refuses(status):
		why := reason(status, body)
		if why == "invalid_grant" {
			l.mu.Lock()
			l.refused[id] = have.Refresh
			l.mu.Unlock()
		}
		return login{}, l.failure(id, l.refusal(why))
	case status != http.StatusOK:
		return login{}, guard.Failure(status, header, nil) // its body may hold tokens that nobody knows yet
	}
	next, err := have.next(body)
	if err != nil {
		return login{}, l.failure(id, err)
	}
	return next, nil
}

// post sends the request for the next tokens.
func (l *logins) post(ctx context.Context, have login) (status int, header http.Header, body []byte, err error) {
	req, err := have.request(ctx)
	if err != nil {
		return 0, nil, nil, err
	}
	res, err := l.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, exchangeLimit))
	return res.StatusCode, res.Header, body, err
}

// refuses reports whether a status says that the refresh token is no good.
func refuses(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusUnauthorized || status == http.StatusForbidden
}

// request is the request for the next tokens.
func (l *login) request(ctx context.Context) (*http.Request, error) {
	kind, body := "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {l.Refresh}, "client_id": {l.ClientID},
	}.Encode()
	if l.asJSON {
		raw, err := json.Marshal(map[string]string{"grant_type": "refresh_token", "refresh_token": l.Refresh, "client_id": l.ClientID})
		if err != nil {
			return nil, err
		}
		kind, body = "application/json", string(raw)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.TokenURL, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Accept", "application/json")
	return req, nil
}

// next is the login with what the token server has answered.
func (l *login) next(body []byte) (login, error) {
	var answer struct {
		Access  string  `json:"access_token"`
		Refresh string  `json:"refresh_token"` // absent: the old one stays
		Life    float64 `json:"expires_in"`    // seconds
	}
	// The decoder's own error could quote a token.
	if json.NewDecoder(bytes.NewReader(body)).Decode(&answer) != nil || answer.Access == "" || strings.ContainsFunc(answer.Access, unicode.IsControl) {
		return login{}, fmt.Errorf("the token server at %s answered without an access token", host(l.TokenURL))
	}
	life := defaultLife
	if answer.Life > 0 && answer.Life < 10*365*24*3600 {
		life = time.Duration(answer.Life * float64(time.Second))
	}
	next := *l
	next.Access, next.Expires = answer.Access, float64(time.Now().Add(life).UnixMilli())
	if answer.Refresh != "" {
		next.Refresh = answer.Refresh
	}
	return next, nil
}

var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// reason is the code of a refusal, such as invalid_grant.
func reason(status int, body []byte) string {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && errorCode.MatchString(said.Error) {
		return said.Error
	}
	return fmt.Sprintf("HTTP %d", status)
}
