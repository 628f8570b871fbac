package responses

import (
	"encoding/json"

	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"mikan/harness"
	"mikan/harness/protocol"
)

// maxID is the longest id that the API takes.
const maxID = 64

// minTokens is the shortest answer that the API lets one ask for.
const minTokens = 16

// extras are what a request asks for beyond what it needs.
type extras struct {
	summary  bool // of what the model thinks
	replayed bool // the reasoning of former turns
}

// params is the request body. Equal requests give equal bytes, and a longer
// history begins with those of a shorter one, which is what the cache goes by.
func params(req harness.Request, extra extras) sdk.ResponseNewParams {
	history := protocol.Prepare(req)
	p := sdk.ResponseNewParams{
		Model: req.Model.ID,
		Input: sdk.ResponseNewParamsInputUnion{OfInputItemList: items(history, extra.replayed)},
		Tools: tools(req.Tools),
		Store: param.NewOpt(false),
	}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if n := protocol.MaxTokens(req.Model, req.System, req.Tools, history); n > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(max(n, minTokens)))
	}
	if req.Session != "" {
		p.PromptCacheKey = param.NewOpt(protocol.Short(req.Session, maxID))
	}
	if !req.Model.Reasons {
		return p
	}
	p.Include = []sdk.ResponseIncludable{sdk.ResponseIncludableReasoningEncryptedContent}
	if word := protocol.Effort(req); word != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(word)
		if extra.summary && word != "none" {
			p.Reasoning.Summary = shared.ReasoningSummaryAuto
		}
	}
	return p
}

func tools(specs []harness.ToolSpec) []sdk.ToolUnionParam {
	var out []sdk.ToolUnionParam
	for _, s := range specs {
		// The raw text keeps the order of the schema's keys.
		raw, err := json.Marshal(map[string]any{
			"type": "function", "name": s.Name, "description": s.Description, "parameters": s.Schema, "strict": false,
		})
		if err != nil {
			continue // a schema that is not JSON
		}
		f := param.Override[sdk.FunctionToolParam](json.RawMessage(raw))
		out = append(out, sdk.ToolUnionParam{OfFunction: &f})
	}
	return out
}
