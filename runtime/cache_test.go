package runtime_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mikan/harness/modeltest"
)

// cached is the beginning of a request that a provider's cache goes by.
type cached struct {
	System       json.RawMessage   `json:"system"`       // Messages API
	Instructions json.RawMessage   `json:"instructions"` // Responses API
	Tools        json.RawMessage   `json:"tools"`
	Messages     []json.RawMessage `json:"messages"`
	Input        []json.RawMessage `json:"input"`
}

// names are those of the tools, in the order in which they are sent.
func (c cached) names(t *testing.T) (names []string) {
	var tools []struct {
		Name     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(c.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		names = append(names, tool.Name+tool.Function.Name)
	}
	return names
}

func TestFault_C6_system_prompt_and_tools_are_the_same_bytes_for_ever(t *testing.T) {
	for api, server := range map[string]func(testing.TB, ...modeltest.Turn) *modeltest.Server{
		"openai-completions": modeltest.NewOpenAI, "openai-responses": modeltest.NewResponses, "anthropic-messages": modeltest.NewAnthropic,
	} {
		t.Run(api, func(t *testing.T) {
			m := server(t)
			l := modelLab(t, api, 200_000, m)
			rt := l.start()
			for i := range 10 {
				if i == 5 {
					rt.Close()
					rt = l.start()
				}
				c := l.office(rt, "demo")
				if i == 3 || i == 7 {
					if err := os.WriteFile(c.Memory, fmt.Append(nil, "remember ", i), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				m.Then(modeltest.Turn{Calls: []modeltest.Call{{ID: fmt.Sprint("c", i), Name: "bash", Arguments: `{"command":"true"}`}}}, modeltest.Turn{Text: fmt.Sprint("answer ", i)})
				answer(t, session(t, c, "main"), fmt.Sprint("prompt ", i))
			}
			unchanging(t, api, m)
		})
	}
}

// unchanging compares the requests that m has got.
func unchanging(t *testing.T, api string, m *modeltest.Server) {
	t.Helper()
	var first, last cached
	for i, r := range m.Requests() {
		var now cached
		if err := json.Unmarshal(r.Body, &now); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = now
		}
		if !bytes.Equal(now.System, first.System) || !bytes.Equal(now.Instructions, first.Instructions) || !bytes.Equal(now.Tools, first.Tools) {
			t.Fatalf("request %d begins otherwise than the first", i)
		}
		if api != "anthropic-messages" { // there the marks of the cache move on
			for _, lists := range [][2][]json.RawMessage{{last.Messages, now.Messages}, {last.Input, now.Input}} {
				for n, msg := range lists[0] {
					if n >= len(lists[1]) || !bytes.Equal(msg, lists[1][n]) {
						t.Fatalf("request %d differs from the one before in message %d", i, n)
					}
				}
			}
		}
		last = now
	}
	if names := first.names(t); len(names) < 4 || !slices.IsSorted(names) {
		t.Errorf("the tools are %q", names)
	}
	// What has no clock does not change at midnight.
	fixed := string(first.System) + string(first.Instructions) + string(first.Tools)
	if len(first.Messages) > 0 && api == "openai-completions" {
		fixed += string(first.Messages[0])
	}
	if !strings.Contains(fixed, "You are mikan") {
		t.Error("the system prompt is elsewhere")
	}
	for _, day := range []time.Time{time.Now(), time.Now().AddDate(0, 0, -1)} {
		for _, layout := range []string{"2006-01-02", "02.01.2006", "Jan 2", "January 2", "2 January"} {
			if date := day.Format(layout); strings.Contains(fixed, date) {
				t.Errorf("the date %s stands in it", date)
			}
		}
	}
	if len(m.Refusals()) > 0 || m.Left() != 0 || len(m.Requests()) != 20 {
		t.Errorf("%v, %d turns left, %d requests", m.Refusals(), m.Left(), len(m.Requests()))
	}
}
