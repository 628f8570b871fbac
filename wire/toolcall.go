package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// ToolRequest is a call of a tool that somebody has added, as it is read from
// the file call.
type ToolRequest struct {
	Call         string          `json:"call,omitempty"`         // the id of the call, the same as in the feed
	Conversation string          `json:"conversation,omitempty"` // the platform's raw id
	Thread       string          `json:"thread,omitempty"`       // the thread that the run's answer goes to
	Origin       Origin          `json:"origin,omitzero"`
	Args         json.RawMessage `json:"args,omitempty"` // an object, as the model gave it
	// Body names the file that holds the whole request if the line cannot.
	Body string `json:"body,omitempty"`
}

// Summary is r as JSON of at most room bytes: all of it, or what is left when
// the fields that may be long are taken out, one after the other.
func (r ToolRequest) Summary(room int) (line json.RawMessage, err error) {
	cuts := []func(*ToolRequest){
		func(*ToolRequest) {},
		func(s *ToolRequest) { s.Args = nil },
		func(s *ToolRequest) { s.Origin = Origin{} },
		func(s *ToolRequest) { s.Conversation, s.Thread = "", "" },
		func(s *ToolRequest) { s.Call = "" },
	}
	for _, cut := range cuts {
		cut(&r)
		if line, err = json.Marshal(r); err != nil || len(line) <= room {
			break
		}
	}
	return line, err
}

// ToolAnswer is an answer to a [ToolRequest] that is more than a text.
type ToolAnswer struct {
	Content []Part          `json:"content"`           // texts and images
	Details json.RawMessage `json:"details,omitempty"` // for the transcript; the model does not see it
}

// maxToolDetails is how many bytes the details of an answer have at most.
const maxToolDetails = 64 << 10

// ParseToolAnswer reads what follows ok: nothing; a string, which is the text;
// an object with a list called content, which is a [ToolAnswer]; anything else,
// which the model is given as it stands.
func ParseToolAnswer(data json.RawMessage) (ToolAnswer, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return ToolAnswer{}, nil
	}
	var text string
	if data[0] == '"' && json.Unmarshal(data, &text) == nil {
		return ToolAnswer{Content: []Part{TextPart(text)}}, nil
	}
	var has struct{ Content json.RawMessage }
	if json.Unmarshal(data, &has) != nil || !bytes.HasPrefix(bytes.TrimSpace(has.Content), []byte("[")) {
		return ToolAnswer{Content: []Part{TextPart(string(data))}}, nil
	}
	var a ToolAnswer
	if err := DecodeJSON("answer", data, &a); err != nil {
		return ToolAnswer{}, err
	}
	if len(a.Details) > maxToolDetails {
		return ToolAnswer{}, fmt.Errorf("answer: details: %d bytes; they may have %d", len(a.Details), maxToolDetails)
	}
	for i, p := range a.Content {
		switch {
		case p.Type == Text:
			a.Content[i] = TextPart(p.Text)
		case p.Type == Image && p.Data != "":
			a.Content[i] = Part{Type: Image, Data: p.Data, MimeType: p.MimeType}
		default:
			return ToolAnswer{}, fmt.Errorf("answer: content[%d]: want a text with text, or an image with data and mimeType, have the type %.40q", i, p.Type)
		}
	}
	return a, nil
}
