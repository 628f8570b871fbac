package subagents

import (
	"encoding/json"
	"unicode/utf8"

	"mikan/wire"
)

// Status is where a subagent stands.
type Status string

// The states of a subagent. All but the first two are final.
const (
	Pending        Status = "pending"
	Running        Status = "running"
	Completed      Status = "completed"
	Failed         Status = "failed"
	Cancelled      Status = "cancelled"       // the run that it belongs to was stopped or interrupted
	Timeout        Status = "timeout"         // its time was up
	BudgetExceeded Status = "budget_exceeded" // another limit was reached, its own or its parent's
	InvalidOutput  Status = "invalid_output"  // its final text is not what the output schema wants
	Skipped        Status = "skipped"         // a task whose result it needs did not complete
)

// Result is what became of a subagent.
type Result struct {
	ID             string          `json:"id,omitempty"` // of the node of a graph
	Label          string          `json:"label,omitempty"`
	RunID          string          `json:"runId,omitempty"` // none: it never ran
	Status         Status          `json:"status"`
	Model          Model           `json:"model,omitzero"`
	Turns          int             `json:"turns"`
	ToolCalls      int             `json:"toolCalls"`
	ToolCallCounts map[string]int  `json:"toolCallCounts,omitempty"`
	Usage          wire.Usage      `json:"usage,omitzero"`
	Tokens         int             `json:"tokens"`
	CostUSD        float64         `json:"costUsd"`
	DurationMS     int64           `json:"durationMs"`
	Text           string          `json:"text,omitempty"`   // its final words
	Output         json.RawMessage `json:"output,omitempty"` // the same, as the output schema wants it
	Error          string          `json:"error,omitempty"`
	// CleanupPending says that something of it had not ended 100 ms after it was
	// told to.
	CleanupPending bool     `json:"cleanupPending,omitempty"`
	Notes          []string `json:"notes,omitempty"` // what it did without
}

// Model names a model.
type Model struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`
}

// maxShown is how many characters of final texts a call's result holds, of all
// its subagents together.
const maxShown = 48_000

// shown is results as the parent's model gets them.
func shown(results []Result) ([]byte, error) {
	list := make([]Result, len(results))
	for i, r := range results {
		if r.Output != nil {
			r.Text = "" // it says the same
		}
		most := maxShown / len(results)
		if utf8.RuneCount(r.Output) > most {
			r.Output, r.Text = nil, string(r.Output)
		}
		r.Text = clip(r.Text, most)
		list[i] = r
	}
	if len(list) == 1 && list[0].ID == "" {
		return wire.PlainJSON(list[0])
	}
	return wire.PlainJSON(map[string][]Result{"results": list})
}

// clip is s, of at most n characters; what is cut off is said.
func clip(s string, n int) string {
	const mark = " [cut off]"
	if len(s) <= n {
		return s
	}
	if r := []rune(s); len(r) > n {
		return string(r[:n-len(mark)]) + mark
	}
	return s
}
