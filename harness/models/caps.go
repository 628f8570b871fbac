package models

import (
	"net/url"

	"mikan/harness"
)

// knownCaps are what servers say, or have shown, that they take in one request,
// by host.
var knownCaps = map[string]harness.Caps{
	"api.anthropic.com":                 {Body: 32_000_000, Images: 100, ImageBytes: 5 << 20},
	"api.openai.com":                    {Body: 50_000_000, Images: 500, ImageBytes: 20_000_000},
	"api.x.ai":                          {Images: 100, ImageBytes: 20_000_000},
	"api.mistral.ai":                    {Images: 8, ImageBytes: 10_000_000},
	"api.groq.com":                      {Body: 4_000_000, Images: 5, ImageBytes: 4_000_000},
	"generativelanguage.googleapis.com": {Body: 20_000_000, Images: 2000, ImageBytes: 20_000_000},
}

// capsAt are the caps of the server at an address; nothing is known of most.
func capsAt(baseURL string) harness.Caps {
	u, err := url.Parse(baseURL)
	if err != nil {
		return harness.Caps{}
	}
	return knownCaps[u.Hostname()]
}
