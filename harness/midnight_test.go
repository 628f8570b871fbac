package harness

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// What a provider caches of a request is the same bytes on every day.
func TestFault_C6_midnight_changes_nothing_of_what_comes_first(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := func() string {
			var specs []ToolSpec
			for _, tool := range append(Tools(nil, nil), HistoryTool(nil)) {
				specs = append(specs, tool.ToolSpec)
			}
			data, err := json.Marshal(specs)
			if err != nil {
				t.Fatal(err)
			}
			return SystemPrompt(PromptInput{Office: "local/demo", Dir: "/office", Shared: "/shared", Tools: specs}) + string(data)
		}
		before := first()
		time.Sleep(25 * time.Hour)
		if first() != before {
			t.Error("the day after, other bytes")
		}
	})
}
