package responses

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	sdk "github.com/openai/openai-go/v3/responses"

	"mikan/harness"
	"mikan/harness/openai"
	"mikan/harness/protocol"
	"mikan/wire"
)

// API is the [harness.Model.API] of the models that this provider serves.
const API = "openai-responses"

// Options say how to reach a server.
type Options struct {
	BaseURL string            // with /v1 or what stands for it; empty: OpenAI's own
	Key     string            // the bearer token; empty: none is sent
	Headers map[string]string // more headers, with their values resolved
	Client  *http.Client      // of [protocol.NewClient]
}

// Provider is a Responses API server. It may be used by several goroutines.
type Provider struct {
	responses  sdk.ResponseService
	secrets    []string
	noSummary  atomic.Bool // the server gives this key no summaries
	noReplayed atomic.Bool // it cannot read what it once encrypted
}

var _ harness.Provider = (*Provider)(nil)

// New returns the provider for one server.
func New(o Options) *Provider {
	opts, secrets := openai.ClientOptions(o.BaseURL, o.Key, o.Headers, o.Client)
	return &Provider{responses: sdk.NewResponseService(opts...), secrets: secrets}
}

// Stream implements [harness.Provider]. A request that is refused only for
// something it can do without is sent once more without that.
func (p *Provider) Stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	m, err := p.stream(ctx, req, emit)
	for p.canDoWithout(err) {
		m, err = p.stream(ctx, req, emit)
	}
	return m, err
}

// canDoWithout reports whether err is the refusal of an extra that had been
// asked for, and notes that it is not to be asked for again: summaries, which
// OpenAI gives only to some, and reasoning of former turns, which is of no use
// with the key of another organization.
func (p *Provider) canDoWithout(err error) bool {
	var e *harness.ModelError
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest {
		return false
	}
	text := strings.ReplaceAll(strings.ToLower(e.Text), "_", " ")
	switch {
	case strings.Contains(text, "encrypted content"):
		return p.noReplayed.CompareAndSwap(false, true)
	case strings.Contains(text, "reasoning summar"), strings.Contains(text, "reasoning.summary"):
		return p.noSummary.CompareAndSwap(false, true)
	}
	return false
}

func (p *Provider) stream(ctx context.Context, req harness.Request, emit func(harness.Delta)) (wire.Message, error) {
	guard := protocol.Guard{Provider: req.Model.Provider, Secrets: p.secrets}
	a := newAnswer(req, emit)
	body := params(req, extras{summary: !p.noSummary.Load(), replayed: !p.noReplayed.Load()})
	stream := p.responses.NewStreaming(ctx, body, option.WithMiddleware(guard.Check))
	defer stream.Close()
	for a.status == "" && ctx.Err() == nil && stream.Next() {
		a.event(stream.Current())
	}
	return a.end(failure(ctx, guard, a, stream.Err()))
}

// failure is what went wrong in a stream that ended with err, if anything.
func failure(ctx context.Context, guard protocol.Guard, a *answer, err error) error {
	var told *ssestream.StreamError
	switch {
	case ctx.Err() == nil && errors.As(err, &told): // an error object in the stream
		return guard.Failure(0, nil, told.Event.Data)
	case err != nil || ctx.Err() != nil || a.status == "":
		return guard.Broken(ctx, err)
	case a.status == "failed":
		return guard.Failure(0, nil, []byte(a.trouble))
	case a.status == "incomplete" && a.reason == "content_filter":
		return guard.Refusal("the server's content filter ended the answer")
	}
	return nil
}
