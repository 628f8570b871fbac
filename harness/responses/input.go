package responses

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	sdk "github.com/openai/openai-go/v3/responses"

	"mikan/wire"
)

// input gathers the items of a request.
type input struct {
	replay bool // reasoning and the ids of items go along
	items  []sdk.ResponseInputItemUnionParam
	ids    map[string]bool // of items; the API refuses one that it sees twice
}

// items turns a prepared history into the API's. Each part is an item of its
// own, in its place.
func items(history []wire.Message, replay bool) []sdk.ResponseInputItemUnionParam {
	in := input{replay: replay, ids: map[string]bool{}}
	for _, m := range history {
		switch m.Role {
		case wire.Assistant:
			in.assistant(m.Content)
		case wire.ToolResult:
			in.add(result(m))
		default:
			in.add(sdk.ResponseInputItemParamOfMessage(content(m.Content), sdk.EasyInputMessageRoleUser))
		}
	}
	return in.items
}

func (in *input) add(item sdk.ResponseInputItemUnionParam) { in.items = append(in.items, item) }

// assistant adds an answer. Reasoning stands only before what it led to, and
// what it led to has its id only if the reasoning goes along: the API refuses
// either without the other.
func (in *input) assistant(parts []wire.Part) {
	whole := in.replay
	for i, p := range parts {
		switch p.Type {
		case wire.Thinking:
			whole = in.reasoning(p.ThinkingSignature, parts[i+1:])
		case wire.Text:
			in.add(in.text(p, whole))
		case wire.ToolCall:
			call := sdk.ResponseInputItemParamOfFunctionCall(string(p.Arguments), p.ID, p.Name)
			if id := p.ThoughtSignature; whole && in.fresh(id, "fc") {
				call.OfFunctionCall.ID = param.NewOpt(id)
			}
			in.add(call)
		}
	}
}

// reasoning adds the reasoning item in a signature if the API takes it before
// what comes next, and reports whether it did.
func (in *input) reasoning(signature string, next []wire.Part) bool {
	var item struct {
		Type      string            `json:"type"`
		ID        string            `json:"id"`
		Encrypted string            `json:"encrypted_content"`
		Summary   []json.RawMessage `json:"summary"`
	}
	if json.Unmarshal([]byte(signature), &item) != nil || item.Type != "reasoning" || item.Encrypted == "" || item.Summary == nil {
		return false
	}
	leads := false
	for _, p := range next {
		leads = leads || p.Type != wire.Thinking
	}
	if !in.replay || !leads || !in.fresh(item.ID, "rs") {
		return false
	}
	r := param.Override[sdk.ResponseReasoningItemParam](json.RawMessage(signature))
	in.add(sdk.ResponseInputItemUnionParam{OfReasoning: &r})
	return true
}

// fresh reports whether id can be that of another item, one whose ids begin
// with prefix.
func (in *input) fresh(id, prefix string) bool {
	strange := func(c rune) bool {
		return c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}
	if !strings.HasPrefix(id, prefix) || len(id) > maxID || in.ids[id] || strings.ContainsFunc(id, strange) {
		return false
	}
	in.ids[id] = true
	return true
}

// text is a message of the model. One without an id has a simpler form.
func (in *input) text(p wire.Part, whole bool) sdk.ResponseInputItemUnionParam {
	s := parseTextSignature(p.TextSignature)
	if !whole || !in.fresh(s.ID, "msg") {
		m := sdk.ResponseInputItemParamOfMessage(p.Text, sdk.EasyInputMessageRoleAssistant)
		m.OfMessage.Phase = sdk.EasyInputMessagePhase(s.Phase)
		return m
	}
	m := sdk.ResponseInputItemParamOfOutputMessage([]sdk.ResponseOutputMessageContentUnionParam{{
		OfOutputText: &sdk.ResponseOutputTextParam{Text: p.Text, Annotations: []sdk.ResponseOutputTextAnnotationUnionParam{}},
	}}, s.ID, sdk.ResponseOutputMessageStatusCompleted)
	m.OfOutputMessage.Phase = sdk.ResponseOutputMessagePhase(s.Phase)
	return m
}

// textSignature is what [wire.Part.TextSignature] holds.
type textSignature struct {
	V     int    `json:"v"`
	ID    string `json:"id"`
	Phase string `json:"phase,omitempty"`
}

// String is s as [parseTextSignature] reads it.
func (s textSignature) String() string {
	raw, _ := json.Marshal(s) // strings and a number cannot fail
	return string(raw)
}

// parseTextSignature reads a signature. Old transcripts have the id alone.
func parseTextSignature(text string) textSignature {
	s := textSignature{ID: text}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &s) != nil {
		return textSignature{}
	}
	if s.Phase != "commentary" && s.Phase != "final_answer" {
		s.Phase = ""
	}
	return s
}

// content is that of a user message.
func content(parts []wire.Part) sdk.ResponseInputMessageContentListParam {
	var out sdk.ResponseInputMessageContentListParam
	for _, p := range parts {
		switch p.Type {
		case wire.Text:
			out = append(out, sdk.ResponseInputContentUnionParam{OfInputText: &sdk.ResponseInputTextParam{Text: p.Text}})
		case wire.Image:
			out = append(out, sdk.ResponseInputContentUnionParam{OfInputImage: &sdk.ResponseInputImageParam{
				ImageURL: param.NewOpt(dataURL(p)), Detail: sdk.ResponseInputImageDetailAuto,
			}})
		}
	}
	return out
}

// result is the output of a call: text alone as a string, which every server
// takes.
func result(m wire.Message) sdk.ResponseInputItemUnionParam {
	var texts []string
	var list sdk.ResponseFunctionCallOutputItemListParam
	for _, p := range m.Content {
		switch p.Type {
		case wire.Text:
			texts = append(texts, p.Text)
			list = append(list, sdk.ResponseFunctionCallOutputItemUnionParam{OfInputText: &sdk.ResponseInputTextContentParam{Text: p.Text}})
		case wire.Image:
			list = append(list, sdk.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &sdk.ResponseInputImageContentParam{
				ImageURL: param.NewOpt(dataURL(p)), Detail: sdk.ResponseInputImageContentDetailAuto,
			}})
		}
	}
	item := sdk.ResponseInputItemParamOfFunctionCallOutput(list)
	if len(texts) == len(list) {
		item = sdk.ResponseInputItemParamOfFunctionCallOutput(strings.Join(texts, "\n"))
	}
	item.OfFunctionCallOutput.CallID = param.NewOpt(m.ToolCallID)
	return item
}

func dataURL(p wire.Part) string { return "data:" + p.MimeType + ";base64," + p.Data }
