package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

type openAIRequest struct {
	Model     string `json:"model"`
	Stream    bool   `json:"stream"`
	MaxTokens *int   `json:"max_tokens"`
	MaxCompl  *int   `json:"max_completion_tokens"`
	Tools     []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []openAIMessage `json:"messages"`
}

type openAIMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// check returns what the Chat Completions API would say is wrong with a request.
func (openAI) check(body []byte) string {
	var r openAIRequest
	switch err := json.Unmarshal(body, &r); {
	case err != nil:
		return "We could not parse the JSON body of your request: " + err.Error()
	case r.Model == "":
		return "you must provide a model parameter"
	case len(r.Messages) == 0:
		return "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
	case !r.Stream:
		return "modeltest: stream is not set"
	case r.MaxTokens != nil && *r.MaxTokens < 1, r.MaxCompl != nil && *r.MaxCompl < 1:
		return "Invalid 'max_tokens': integer below minimum value."
	case r.MaxTokens != nil && r.MaxCompl != nil:
		return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
	}
	if text := r.checkTools(); text != "" {
		return text
	}
	for i, m := range r.Messages {
		if text := m.check(i); text != "" {
			return text
		}
	}
	return r.checkPairs()
}

func (r openAIRequest) checkTools() string {
	seen := map[string]bool{}
	for i, t := range r.Tools {
		switch name := t.Function.Name; {
		case t.Type != "function":
			return fmt.Sprintf("Missing required parameter: 'tools[%d].type'.", i)
		case !toolName.MatchString(name):
			return fmt.Sprintf("Invalid 'tools[%d].function.name': string does not match pattern.", i)
		case seen[name]:
			return "Invalid 'tools': duplicate function name " + name + "."
		case !isObject(t.Function.Parameters):
			return fmt.Sprintf("Invalid type for 'tools[%d].function.parameters': expected an object.", i)
		}
		seen[t.Function.Name] = true
	}
	return ""
}

func (m openAIMessage) check(i int) string {
	var text string
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	isText := json.Unmarshal(m.Content, &text) == nil
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
	for _, p := range parts {
		if p.Type == "image_url" {
			kind, data, _ := strings.Cut(strings.TrimPrefix(p.ImageURL.URL, "data:"), ";base64,")
			if m.Role != "user" {
				return fmt.Sprintf("Invalid 'messages[%d]'. Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", i, m.Role)
			}
			if !goodImage(kind, data) {
				return "You uploaded an unsupported image. Please make sure your image is valid."
			}
		}
	}
	for j, c := range m.ToolCalls {
		switch {
		case c.ID == "":
			return fmt.Sprintf("Missing required parameter: 'messages[%d].tool_calls[%d].id'.", i, j)
		case len(c.ID) > 40:
			return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].id': string too long. Expected a string with maximum length 40, but got a string with length %d instead.", i, j, len(c.ID))
		case c.Type != "function":
			return fmt.Sprintf("Missing required parameter: 'messages[%d].tool_calls[%d].type'.", i, j)
		case !isObject(json.RawMessage(c.Function.Arguments)):
			return fmt.Sprintf("Invalid 'messages[%d].tool_calls[%d].function.arguments': expected a JSON object.", i, j)
		}
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
