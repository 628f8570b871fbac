package models

import (
	"encoding/json"
	"net"
	"net/url"
	"time"
)

// margin is how long before its end a token is no longer used.
const margin = 2 * time.Minute

// login is an entry of auth.json of type oauth: a short-lived access token, and
// a refresh token that gets the next one, often only once. Whoever made the
// login may keep more in the entry; it stays as it is.
type login struct {
	Access   string  `json:"access"`
	Refresh  string  `json:"refresh"`
	Expires  float64 `json:"expires"` // Unix milliseconds
	TokenURL string  `json:"tokenUrl"`
	ClientID string  `json:"clientId"`

	asJSON bool // the token server wants JSON, not a form
}

// String keeps the tokens out of whatever prints a login.
func (l *login) String() string { return "login" }

// GoString is String.
func (l *login) GoString() string { return l.String() }

// tokenServers are where a login is renewed if its entry does not say.
var tokenServers = map[string]login{
	"anthropic":    {TokenURL: "https://console.anthropic.com/v1/oauth/token", ClientID: "9d1c250a-e61b-44d9-88ed-5944d1962f5e", asJSON: true},
	"openai-codex": {TokenURL: "https://auth.openai.com/oauth/token", ClientID: "app_EMoamEEZ73f0CkXaXp7hrann"},
}

// readLogin reads the entry of a provider, or says what is wrong, and with which
// key.
func readLogin(id string, entry json.RawMessage) (l *login, why, key string) {
	l = &login{}
	if json.Unmarshal(entry, l) != nil {
		return nil, `a login has strings for "access" and "refresh", and a number for "expires"`, ""
	}
	known := tokenServers[id]
	if l.TokenURL == "" {
		l.TokenURL, l.asJSON = known.TokenURL, known.asJSON
	}
	if l.ClientID == "" {
		l.ClientID = known.ClientID
	}
	switch {
	case l.Access == "" && l.Refresh == "":
		return nil, `a login needs "access" and "refresh"`, ""
	case l.TokenURL != "" && !confidential(l.TokenURL):
		return nil, "tokenUrl must be an https address", "tokenUrl"
	}
	return l, "", ""
}

// confidential reports whether what is sent to an address stays between us and
// the server: https, or a server on this machine.
func confidential(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}

// fresh reports whether the access token can be used. One that does not say when
// it ends, and cannot be renewed, is used as long as the server takes it.
func (l *login) fresh(now time.Time) bool {
	if l.Access == "" {
		return false
	}
	if l.Expires == 0 {
		return l.Refresh == ""
	}
	return float64(now.Add(margin).UnixMilli()) < l.Expires
}

// renewable reports whether there is all that it takes to get another token.
func (l *login) renewable() bool { return l.Refresh != "" && l.TokenURL != "" && l.ClientID != "" }
