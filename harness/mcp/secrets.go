package mcp

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// secrets hides the values of a server's settings in what is said about it.
type secrets struct {
	all   *strings.Replacer // of every value
	plain *strings.Replacer // of those that are meant to be secret
}

// A shorter value is no secret, and hiding it would hide everything else.
const (
	shortValue = 4
	shortWord  = 8 // of a value, such as Bearer, or of a header, such as true
	// A part of a path that is as long and has a digit is a key: some services
	// give each user a URL of their own.
	longSegment = 16
)

func secretsOf(c Config) secrets {
	all, plain := values{}, values{}
	for name, value := range c.Env {
		all.add(name, value)
		if secretName.MatchString(name) {
			plain.add(name, value)
		}
	}
	for name, value := range c.Headers {
		all.add(name, value)
		if len(value) >= shortWord || secretName.MatchString(name) {
			plain.add(name, value)
		}
	}
	if u, err := url.Parse(c.URL); err == nil {
		password, two := u.User.Password()
		plain.add("url", password)
		if !two {
			plain.add("url", u.User.Username())
		}
		for _, segment := range strings.Split(u.EscapedPath(), "/") {
			if len(segment) >= longSegment && strings.ContainsAny(segment, "0123456789") {
				plain.add("url", segment)
			}
		}
		plain.add("url", u.RawQuery)
		for _, list := range u.Query() {
			for _, value := range list {
				plain.add("url", value)
				plain.add("url", url.QueryEscape(value))
			}
		}
	}
	maps.Copy(all, plain)
	return secrets{all.replacer(), plain.replacer()}
}

// secretName is how an environment variable is called that holds a secret.
var secretName = regexp.MustCompile(`(?i)key|token|secret|pass|auth|cred|pat$`)

// values are the names of values.
type values map[string]string

func (v values) add(name, value string) {
	if len(value) >= shortValue {
		v[value], v[inJSON(value)] = name, name
	}
	for _, word := range strings.Fields(value) {
		if len(word) >= shortWord {
			v[word], v[inJSON(word)] = name, name
		}
	}
}

// inJSON is a value as it stands in a JSON text.
func inJSON(value string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // a text can be encoded
	return strings.TrimSuffix(strings.TrimPrefix(b.String(), `"`), "\"\n")
}

// replacer puts names in the place of values, the longest first.
func (v values) replacer() *strings.Replacer {
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Keys(v), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	}) {
		pairs = append(pairs, value, "[SECRET:"+v[value]+"]")
	}
	return strings.NewReplacer(pairs...)
}

// hideIn is what the server gave back, without the secrets that it was given. A
// value such as "production" may stand there.
func (s secrets) hideIn(text string) string { return s.plain.Replace(text) }

// maxWhy is how long a diagnostic is at most.
const maxWhy = 400

// line is a diagnostic without any value of the settings, as one short line.
func (s secrets) line(text string) string {
	return clip(strings.Join(strings.Fields(strings.ToValidUTF8(s.all.Replace(text), "\uFFFD")), " "), maxWhy)
}

// clip is text, cut to at most n bytes, between runes.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
