package modeltest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// responsesRequest is what the checks look at.
type responsesRequest struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	Store     *bool           `json:"store"`
	MaxTokens *int            `json:"max_output_tokens"`
	CacheKey  string          `json:"prompt_cache_key"`
	Input     []responsesItem `json:"input"`
	Tools     []struct {
		Type       string          `json:"type"`
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"tools"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Summary   *[]any          `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

// kind is the item's type, which a message need not say.
func (i responsesItem) kind() string {
	if i.Type == "" && i.Role != "" {
		return "message"
	}
	return i.Type
}

// check returns what the Responses API would say is wrong with a request.
func (r *responsesAPI) check(body []byte, terms Terms) string {
	var q responsesRequest
	switch err := json.Unmarshal(body, &q); {
	case err != nil:
		return "We could not parse the JSON body of your request: " + err.Error()
	case q.Model == "":
		return "Missing required parameter: 'model'."
	case len(q.Input) == 0:
		return "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided."
	case !q.Stream:
		return "modeltest: stream is not set"
	case q.Store == nil || *q.Store:
		return "modeltest: the conversation would be stored"
	case q.MaxTokens != nil && *q.MaxTokens < 16:
		return fmt.Sprintf("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *q.MaxTokens)
	case q.MaxTokens != nil && terms.MaxTokens > 0 && *q.MaxTokens > terms.MaxTokens:
		return fmt.Sprintf("max_output_tokens is too large: %d. This model supports at most %d completion tokens, whereas you provided %d.", *q.MaxTokens, terms.MaxTokens, *q.MaxTokens)
	case len(q.Tools) > openAITools:
		return tooMany(len(q.Tools))
	case len(q.CacheKey) > 64:
		return tooLong("prompt_cache_key", q.CacheKey)
	}
	if text := q.checkTools(); text != "" {
		return text
	}
	for i, item := range q.Input {
		if text := item.check(fmt.Sprintf("input[%d]", i), terms); text != "" {
			return text
		}
	}
	for _, rule := range []func() string{q.checkDuplicates, q.checkPairs, func() string { return r.checkReasoning(q.Input) }} {
		if text := rule(); text != "" {
			return text
		}
	}
	return ""
}

func tooLong(at, s string) string {
	return fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", at, len(s))
}

func (q responsesRequest) checkTools() string {
	seen := map[string]bool{}
	for i, t := range q.Tools {
		switch bad := badName(fmt.Sprintf("tools[%d].name", i), t.Name); {
		case t.Type != "function":
			return fmt.Sprintf("Missing required parameter: 'tools[%d].type'.", i)
		case bad != "":
			return bad
		case seen[t.Name]:
			return "Invalid 'tools': duplicate function name " + t.Name + "."
		case !isObject(t.Parameters):
			return fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"None\"'.", t.Name)
		}
		seen[t.Name] = true
	}
	return ""
}

// check looks at an item alone.
func (i responsesItem) check(at string, terms Terms) string {
	prefix := map[string]string{"message": "msg", "function_call": "fc", "reasoning": "rs"}[i.kind()]
	switch {
	case len(i.ID) > 64:
		return tooLong(at+".id", i.ID)
	case len(i.CallID) > 64:
		return tooLong(at+".call_id", i.CallID)
	case i.ID != "" && !anthropicID.MatchString(i.ID):
		return fmt.Sprintf("Invalid '%s.id': '%s'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.", at, i.ID)
	case i.ID != "" && !strings.HasPrefix(i.ID, prefix):
		return fmt.Sprintf("Invalid '%s.id': '%s'. Expected an ID that begins with '%s'.", at, i.ID, prefix)
	}
	switch i.kind() {
	case "message":
		return i.checkMessage(at, terms)
	case "function_call":
		switch bad := badName(at+".name", i.Name); {
		case i.CallID == "":
			return fmt.Sprintf("Missing required parameter: '%s.call_id'.", at)
		case bad != "":
			return bad
		case i.Arguments == nil || !isObject(json.RawMessage(*i.Arguments)):
			return fmt.Sprintf("modeltest: '%s.arguments' is no JSON object", at)
		}
	case "function_call_output":
		if i.CallID == "" {
			return fmt.Sprintf("Missing required parameter: '%s.call_id'.", at)
		}
		return checkContent(i.Output, at+".output", terms, "input_text", "input_image")
	case "reasoning":
		switch {
		case i.ID == "":
			return fmt.Sprintf("Missing required parameter: '%s.id'.", at)
		case i.Summary == nil:
			return fmt.Sprintf("Missing required parameter: '%s.summary'.", at)
		case i.Encrypted == "":
			return "Item with id '" + i.ID + "' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input."
		}
	default:
		return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function_call', 'function_call_output', 'message', 'reasoning'. (%s)", i.Type, at)
	}
	return ""
}

func (i responsesItem) checkMessage(at string, terms Terms) string {
	switch i.Role {
	case "user", "system", "developer":
		return checkContent(i.Content, at+".content", terms, "input_text", "input_image")
	case "assistant":
		return checkContent(i.Content, at+".content", terms, "output_text", "refusal")
	}
	return fmt.Sprintf("Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'. (%s.role)", i.Role, at)
}

// checkContent looks at a string, or a list of parts of these kinds.
func checkContent(raw json.RawMessage, at string, terms Terms, kinds ...string) string {
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL string  `json:"image_url"`
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && string(raw) != "null" {
		if len(text) > openAIString {
			return fmt.Sprintf("Invalid '%s': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, openAIString, len(text))
		}
		return ""
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return fmt.Sprintf("Invalid type for '%s': expected one of an array of objects or string, but got null instead.", at)
	}
	for n, p := range parts {
		mime, data, _ := strings.Cut(strings.TrimPrefix(p.ImageURL, "data:"), ";base64,")
		switch {
		case p.Type != kinds[0] && p.Type != kinds[1]:
			return fmt.Sprintf("Invalid value: '%s'. Supported values are: '%s'. (%s[%d])", p.Type, strings.Join(kinds, "' and '"), at, n)
		case strings.HasSuffix(p.Type, "_text") && p.Text == nil:
			return fmt.Sprintf("Missing required parameter: '%s[%d].text'.", at, n)
		case p.Type == "input_image" && terms.TextOnly:
			return "Invalid content type. image_url is only supported by certain models."
		case p.Type == "input_image" && !goodImage(mime, data):
			return "The image data you provided does not represent a valid image. Please check your input and try again."
		}
	}
	return ""
}

func (q responsesRequest) checkDuplicates() string {
	seen := map[string]bool{}
	for _, i := range q.Input {
		if i.ID != "" && seen[i.ID] {
			return "Duplicate item found with id " + i.ID + ". Remove duplicate items from your input and try again."
		}
		seen[i.ID] = true
	}
	return ""
}

// checkPairs holds each call against its output, which comes later.
func (q responsesRequest) checkPairs() string {
	open, seen := map[string]bool{}, map[string]bool{}
	for _, i := range q.Input {
		switch i.kind() {
		case "function_call":
			if seen[i.CallID] {
				return "modeltest: two function calls have the call_id " + i.CallID
			}
			seen[i.CallID], open[i.CallID] = true, true
		case "function_call_output":
			if !open[i.CallID] {
				return "No tool call found for function call output with call_id " + i.CallID + "."
			}
			delete(open, i.CallID)
		}
	}
	for id := range open {
		return "No tool output found for function call " + id + "."
	}
	return ""
}

// checkReasoning wants reasoning to stand before what it led to, and nothing
// that it led to without it.
func (r *responsesAPI) checkReasoning(input []responsesItem) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := map[string]bool{}
	for n, i := range input {
		kind := i.kind()
		if kind == "reasoning" {
			have[i.ID] = true
			next := n + 1
			for next < len(input) && input[next].kind() == "reasoning" {
				next++
			}
			if next == len(input) || input[next].kind() != "function_call" && input[next].Role != "assistant" {
				return "Item '" + i.ID + "' of type 'reasoning' was provided without its required following item."
			}
		}
		if reason := r.reasonOf[i.ID]; reason != "" && !have[reason] {
			return fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", i.ID, kind, reason)
		}
	}
	return ""
}
