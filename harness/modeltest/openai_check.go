package modeltest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

type openAIRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens *int   `json:"max_tokens"`
	MaxCompl  *int   `json:"max_completion_tokens"`
	Tools     []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []openAIMessage `json:"messages"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []openAICall    `json:"tool_calls"`
}

type openAICall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type openAIPart struct {
	Type     string  `json:"type"`
	Text     *string `json:"text"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
}

// What OpenAI's servers take, by either API.
const (
	openAITools  = 128
	openAIString = 10 << 20 // characters of a content
	openAICallID = 40

	openAIDescription = 1024 // characters; of Chat Completions
)

var openAIName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// badName says what is wrong with the name of a function.
func badName(at, name string) string {
	switch {
	case name == "":
		return fmt.Sprintf("Missing required parameter: '%s'.", at)
	case !openAIName.MatchString(name):
		return fmt.Sprintf("Invalid '%s': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case len(name) > 64:
		return tooLong(at, name)
	}
	return ""
}

func tooMany(tools int) string {
	return fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", openAITools, tools)
}

// check returns what the Chat Completions API would say is wrong with a request.
func (openAI) check(body []byte, terms Terms) string {
	var r openAIRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return "We could not parse the JSON body of your request: " + err.Error()
	}
	limit := 0
	for _, n := range []*int{r.MaxTokens, r.MaxCompl} {
		if n != nil && *n < 1 {
			return "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1."
		}
		if n != nil {
			limit = *n
		}
	}
	switch {
	case r.Model == "":
		return "you must provide a model parameter"
	case len(r.Messages) == 0:
		return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
	case !r.Stream:
		return "modeltest: stream is not set"
	case r.MaxTokens != nil && r.MaxCompl != nil:
		return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
	case terms.MaxTokens > 0 && limit > terms.MaxTokens:
		return fmt.Sprintf("max_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", limit, terms.MaxTokens, limit)
	}
	if text := r.checkTools(); text != "" {
		return text
	}
	for i, m := range r.Messages {
		if text := m.check(i, terms); text != "" {
			return text
		}
	}
	return r.checkPairs()
}

func (r openAIRequest) checkTools() string {
	if len(r.Tools) > openAITools {
		return tooMany(len(r.Tools))
	}
	seen := map[string]bool{}
	for i, t := range r.Tools {
		name := t.Function.Name
		switch bad := badName(fmt.Sprintf("tools[%d].function.name", i), name); {
		case t.Type != "function":
			return fmt.Sprintf("Missing required parameter: 'tools[%d].type'.", i)
		case bad != "":
			return bad
		case utf8.RuneCountInString(t.Function.Description) > openAIDescription:
			return fmt.Sprintf("Invalid 'tools[%d].function.description': string too long. Expected a string with maximum length %d, but got a string with length %d instead.",
				i, openAIDescription, utf8.RuneCountInString(t.Function.Description))
		case seen[name]:
			return "Invalid 'tools': duplicate function name " + name + "."
		case !isObject(t.Function.Parameters):
			return fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", name)
		}
		seen[name] = true
	}
	return ""
}

func (m openAIMessage) check(i int, terms Terms) string {
	var text string
	var parts []openAIPart
	isText := json.Unmarshal(m.Content, &text) == nil && string(m.Content) != "null"
	isParts := !isText && json.Unmarshal(m.Content, &parts) == nil && len(parts) > 0
	switch m.Role {
	case "system", "developer", "user", "tool":
		if !isText && !isParts {
			return fmt.Sprintf("Invalid value for 'content': expected a string, got null. (messages.[%d])", i)
		}
	case "assistant":
		if !isText && !isParts && len(m.ToolCalls) == 0 {
			return "Invalid value for 'content': expected a string, got null."
		}
	default:
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. (messages[%d].role)", m.Role, i)
	}
	switch {
	case len(text) > openAIString:
		return fmt.Sprintf("Invalid 'messages[%d].content': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", i, openAIString, len(text))
	case m.Role == "tool" && m.ToolCallID == "":
		return fmt.Sprintf("Missing required parameter: 'messages[%d].tool_call_id'.", i)
	case m.ToolCalls != nil && len(m.ToolCalls) == 0:
		return fmt.Sprintf("Invalid 'messages[%d].tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", i)
	}
	for j, p := range parts {
		if text := p.check(fmt.Sprintf("messages[%d].content[%d]", i, j), m.Role, terms); text != "" {
			return text
		}
	}
	for j, c := range m.ToolCalls {
		if text := c.check(fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)); text != "" {
			return text
		}
	}
	return ""
}

func (p openAIPart) check(at, role string, terms Terms) string {
	kind, data, _ := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
	switch {
	case p.Type == "text" && p.Text == nil:
		return fmt.Sprintf("Missing required parameter: '%s.text'.", at)
	case p.Type == "text":
	case p.Type != "image_url":
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'. (%s.type)", p.Type, at)
	case role != "user":
		return fmt.Sprintf("Invalid '%s'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", at, role)
	case terms.TextOnly:
		return "Invalid content type. image_url is only supported by certain models."
	case !goodImage(kind, data):
		return "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp']."
	}
	return ""
}

func (c openAICall) check(at string) string {
	bad := badName(at+".function.name", c.Function.Name)
	switch {
	case c.ID == "":
		return fmt.Sprintf("Missing required parameter: '%s.id'.", at)
	case len(c.ID) > openAICallID:
		return fmt.Sprintf("Invalid '%s.id': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, openAICallID, len(c.ID))
	case c.Type != "function":
		return fmt.Sprintf("Missing required parameter: '%s.type'.", at)
	case bad != "":
		return bad
	case !isObject(json.RawMessage(c.Function.Arguments)):
		return fmt.Sprintf("modeltest: '%s.function.arguments' is no JSON object", at)
	}
	return ""
}

func (r openAIRequest) checkPairs() string {
	open := map[string]bool{}
	missing := func() string {
		var ids []string
		for id := range open {
			ids = append(ids, id)
		}
		return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: " + strings.Join(ids, ", ")
	}
	for _, m := range r.Messages {
		if m.Role == "tool" {
			if !open[m.ToolCallID] {
				return "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
			}
			delete(open, m.ToolCallID)
			continue
		}
		if len(open) > 0 {
			return missing()
		}
		for _, c := range m.ToolCalls {
			if open[c.ID] {
				return "Duplicate value for 'tool_call_id' of '" + c.ID + "' in message"
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return missing()
	}
	return ""
}
