package harness

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestSchemasAreObjectsThatRequireALabel(t *testing.T) {
	var names []string
	for _, tool := range Tools(nil, nil) {
		names = append(names, tool.Name)
		var schema struct {
			Type       string
			Properties map[string]struct{ Type, Description string }
			Required   []string
		}
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		if schema.Type != "object" || !slices.Contains(schema.Required, "label") {
			t.Errorf("%s: %s", tool.Name, tool.Schema)
		}
		for _, r := range schema.Required {
			if p := schema.Properties[r]; p.Type == "" || p.Description == "" {
				t.Errorf("%s requires %s, which it does not describe", tool.Name, r)
			}
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("tools are not sorted: %v", names)
	}
}
