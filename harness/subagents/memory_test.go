package subagents

import (
	"context"
	"testing"

	"mikan/harness"
	"mikan/wire"
)

func TestMemoryGoesOnAfterACompactionWithItsSummary(t *testing.T) {
	paid := 0
	m := &memory{spent: func(_ context.Context, msg wire.Message) error { paid += msg.Usage.Total; return nil }}
	for _, text := range []string{"one", "two", "three"} {
		if err := m.Append(t.Context(), wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart(text)}}); err != nil {
			t.Fatal(err)
		}
	}
	err := m.Compact(t.Context(), harness.Compaction{Summary: "so far", Keep: 1, Paid: wire.Message{Usage: &wire.Usage{Total: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := m.Context(t.Context())
	if err != nil || len(msgs) != 2 || msgs[1].PlainText() != "three" || paid != 7 {
		t.Fatalf("%+v %v; paid %d", msgs, err, paid)
	}
	if s, ok := wire.SummaryOf(msgs[0]); !ok || s != "so far" {
		t.Errorf("%+v", msgs[0])
	}
}
