package runtime_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/wire"
)

// scripted makes the models lab/m, of a server that answers with turns, and
// kids/m, of another. It is called before the start.
func (l *lab) scripted(turns ...modeltest.Turn) (lab, kids *modeltest.Server) {
	l.t.Helper()
	lab, kids = modeltest.NewOpenAI(l.t, turns...), modeltest.NewOpenAI(l.t)
	const provider = `%q:{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m","cost":{"input":1000000,"output":0,"cacheRead":0,"cacheWrite":0}}]}`
	l.write("models.json", fmt.Sprintf(`{"providers":{`+provider+`,`+provider+`}}`, "lab", lab.URL, "kids", kids.URL))
	return lab, kids
}

// calls is a turn that calls one tool.
func calls(tool, args string) modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: "call_" + tool, Name: tool, Arguments: args}}, Usage: modeltest.Usage{Input: 1, Output: 1}}
}

func says(text string) modeltest.Turn {
	return modeltest.Turn{Text: text, Usage: modeltest.Usage{Input: 1, Output: 1}}
}

// use has a session use a model from now on.
func use(t testing.TB, s *runtime.Session, model string) *runtime.Session {
	t.Helper()
	if err := s.Command(ctx(t), ann, "model "+model); err != nil {
		t.Fatal(err)
	}
	return s
}

// results are the tool results in the last request that a server got.
func results(t testing.TB, s *modeltest.Server) []string {
	t.Helper()
	requests := s.Requests()
	var body struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(requests[len(requests)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range body.Messages {
		if m.Role != "tool" {
			continue
		}
		var text string
		var parts []wire.Part
		if json.Unmarshal(m.Content, &text) != nil {
			if err := json.Unmarshal(m.Content, &parts); err != nil {
				t.Fatal(err)
			}
			text = wire.Message{Content: parts}.PlainText()
		}
		list = append(list, text)
	}
	return list
}
