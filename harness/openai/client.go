package openai

import (
	"net/http"

	"github.com/openai/openai-go/v3/option"
)

// ClientOptions are the SDK's options for a server of either of OpenAI's
// protocols: its address, if it is not OpenAI's own, a bearer token, if one is to
// be sent, and more headers. secrets are what must not be shown of them.
func ClientOptions(baseURL, key string, headers map[string]string, client *http.Client) (opts []option.RequestOption, secrets []string) {
	opts = []option.RequestOption{
		option.WithEnvironmentProduction(), // the address only
		option.WithHTTPClient(client),
		option.WithMaxRetries(0),
	}
	if baseURL != "" {
		opts = append(opts, option.WithBaseURL(baseURL))
	}
	if key != "" {
		opts = append(opts, option.WithAPIKey(key))
		secrets = append(secrets, key)
	}
	for k, v := range headers {
		opts = append(opts, option.WithHeader(k, v))
		secrets = append(secrets, v)
	}
	return opts, secrets
}
