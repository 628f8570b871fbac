package openai

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// API is the [harness.Model.API] of the models that this provider serves.
const API = "openai-completions"

// Options say how to reach a server.
type Options struct {
	BaseURL string            // with /v1 or what stands for it; empty: OpenAI's own
	Key     string            // the bearer token; empty: none is sent
	Headers map[string]string // more headers, with their values resolved
	Compat  Compat
	Client  *http.Client // of [protocol.NewClient]
}

// Compat says what a server does differently. The zero value is a server of
// which nothing is known; [Own] is OpenAI's.
type Compat struct {
	Store         bool   // takes "store", which is sent as false
	Strict        bool   // takes "strict" in tools, which is sent as false
	CacheKey      bool   // takes "prompt_cache_key"
	DeveloperRole bool   // the system prompt of a reasoning model has the role "developer"
	NoEffort      bool   // does not take "reasoning_effort"
	NoUsage       bool   // does not take "stream_options"
	MaxTokens     string // the field for the longest answer; empty: "max_tokens"
}

// Own is OpenAI's own server.
func Own() Compat {
	return Compat{Store: true, Strict: true, CacheKey: true, MaxTokens: "max_completion_tokens"}
}

// CompatOf is the Compat of a server at an address, as far as it is known.
func CompatOf(baseURL string) Compat {
	if u, err := url.Parse(baseURL); baseURL == "" || err == nil && u.Hostname() == "api.openai.com" {
		return Own()
	}
	return Compat{}
}

// Provider is a Chat Completions server. It may be used by several goroutines.
type Provider struct {
	chat    sdk.ChatCompletionService
	compat  Compat
	secrets []string
}

var _ harness.Provider = (*Provider)(nil)

// New returns the provider for one server.
func New(o Options) *Provider {
	opts, secrets := ClientOptions(o.BaseURL, o.Key, o.Headers, o.Client)
	p := &Provider{compat: o.Compat, secrets: secrets}
	// Not NewClient, which reads the environment.
	p.chat = sdk.NewChatCompletionService(opts...)
	return p
}

// Stream implements [harness.Provider].
func (p *Provider) Stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	guard := protocol.Guard{Provider: req.Model.Provider, Secrets: p.secrets}
	a := newAnswer(req, emit)
	stream := p.chat.NewStreaming(ctx, params(req, p.compat), option.WithMiddleware(guard.Check))
	defer stream.Close()
	for stream.Next() {
		if ctx.Err() != nil {
			break
		}
		a.chunk(stream.Current())
	}
	return a.end(failure(ctx, guard, a, stream.Err()))
}

// failure is what went wrong in a stream that ended with err, if anything.
func failure(ctx context.Context, guard protocol.Guard, a *answer, err error) error {
	var told *ssestream.StreamError
	switch {
	case ctx.Err() == nil && errors.As(err, &told): // an error object in the stream
		return guard.Failure(0, nil, told.Event.Data)
	case err != nil || ctx.Err() != nil || a.finish == "":
		return guard.Broken(ctx, err)
	case a.finish == "content_filter":
		return guard.Refusal("the server's content filter ended the answer")
	}
	return nil
}
