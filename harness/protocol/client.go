package protocol

import (
	"net"
	"net/http"
	"time"
)

// NewClient returns a client for model servers. It takes a proxy from the usual
// variables, follows no redirects, since they would carry the key elsewhere, and
// has no limit on the length of an answer: that is the context's. Close its
// idle connections when it is no longer needed.
func NewClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   15 * time.Second,
			ResponseHeaderTimeout: 10 * time.Minute, // a local model may read its prompt for that long
			ForceAttemptHTTP2:     true,
			DisableCompression:    true, // a compressed stream arrives in lumps
			MaxIdleConnsPerHost:   16,
			IdleConnTimeout:       90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
