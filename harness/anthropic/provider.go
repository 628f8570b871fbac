package anthropic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"mikan/harness"
	"mikan/harness/protocol"
	"mikan/wire"
)

// API is the [harness.Model.API] of the models that this provider serves.
const API = "anthropic-messages"

// Options say how to reach a server.
type Options struct {
	BaseURL string            // without /v1; empty: Anthropic's own
	Key     string            // sent as a bearer token, to other servers also as X-Api-Key; empty: none is sent
	Token   string            // of a login, sent as a bearer token; empty: none is sent
	Headers map[string]string // more headers, with their values resolved
	Client  *http.Client      // of [protocol.NewClient]
}

// Provider is a Messages API server. It may be used by several goroutines.
type Provider struct {
	messages sdk.MessageService
	secrets  []string
	foreign  disowned
}

var _ harness.Provider = (*Provider)(nil)

// New returns the provider for one server.
func New(o Options) *Provider {
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithHTTPClient(o.Client),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	p := &Provider{}
	if o.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/v1")))
	}
	if !own(o.BaseURL) {
		// What others implement is the version that was current for three years.
		opts = append(opts, option.WithHeader("anthropic-version", "2023-06-01"))
	}
	if o.Key != "" {
		opts = append(opts, option.WithAPIKey(o.Key))
		if !own(o.BaseURL) {
			opts = append(opts, option.WithHeader("X-Api-Key", o.Key)) // by which the older API knew it
		}
		p.secrets = append(p.secrets, o.Key)
	}
	if o.Token != "" {
		// The API takes the token of a login only under this name.
		opts = append(opts, option.WithAuthToken(o.Token), option.WithHeader("anthropic-beta", "oauth-2025-04-20"))
		p.secrets = append(p.secrets, o.Token)
	}
	for k, v := range o.Headers {
		opts = append(opts, option.WithHeader(k, v))
		p.secrets = append(p.secrets, v)
	}
	p.messages = sdk.NewClient(opts...).Messages
	return p
}

// own reports whether base is Anthropic's own address.
func own(base string) bool {
	u, err := url.Parse(base)
	return base == "" || err == nil && u.Hostname() == "api.anthropic.com"
}

// Stream implements [harness.Provider]. A request that is refused for the
// thinking in it is sent once more without that thinking, which from then on
// stays away.
func (p *Provider) Stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	req.Messages = p.foreign.strip(req.Messages)
	m, err := p.stream(ctx, req, emit)
	if !disowns(err) || !p.foreign.add(req.Messages) {
		return m, err
	}
	req.Messages = p.foreign.strip(req.Messages)
	return p.stream(ctx, req, emit)
}

func (p *Provider) stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	guard := protocol.Guard{Provider: req.Model.Provider, Secrets: p.secrets}
	a := newAnswer(req, emit)
	stream := p.messages.NewStreaming(ctx, params(req), option.WithMiddleware(guard.Check))
	defer stream.Close()
	for stream.Next() {
		if ctx.Err() != nil {
			break
		}
		a.event(stream.Current())
	}
	return a.end(failure(ctx, guard, a, stream.Err()))
}

// failure is what went wrong in a stream that ended with err, if anything.
func failure(ctx context.Context, guard protocol.Guard, a *answer, err error) error {
	var told *sdk.Error
	switch {
	case ctx.Err() == nil && errors.As(err, &told): // an error event in the stream
		return guard.Failure(0, nil, []byte(told.RawJSON()))
	case err != nil || ctx.Err() != nil || !a.complete:
		return guard.Broken(ctx, err)
	case a.refusal != "":
		return guard.Refusal(a.refusal)
	}
	return nil
}
