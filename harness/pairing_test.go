package harness

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mikan/wire"
)

// anyHistory draws a history with every breach of the pairing law: calls
// without results, results without calls or twice or late, ids used again.
func anyHistory(t *rapid.T) []wire.Message {
	id := rapid.SampledFrom([]string{"a", "b", "c", "a_2", "", "x|y", "ü"})
	args := rapid.SampledFrom([]string{"{}", `{"n":1}`, "[]", "null", "", `{"half`})
	part := rapid.Custom(func(t *rapid.T) wire.Part {
		switch rapid.IntRange(0, 2).Draw(t, "part") {
		case 0:
			return text(rapid.SampledFrom([]string{"", "hello"}).Draw(t, "text"))
		default:
			return call(id.Draw(t, "id"), "bash", args.Draw(t, "args"))
		}
	})
	msg := rapid.Custom(func(t *rapid.T) wire.Message {
		switch rapid.IntRange(0, 4).Draw(t, "role") {
		case 0:
			return user("hi")
		case 1, 2:
			return wire.Message{Role: wire.Assistant, Content: rapid.SliceOfN(part, 0, 4).Draw(t, "parts")}
		default:
			return wire.Message{Role: wire.ToolResult, ToolCallID: id.Draw(t, "for"), ToolName: "bash", Content: []wire.Part{text("out")}}
		}
	})
	return rapid.SliceOfN(msg, 0, 12).Draw(t, "history")
}

func TestRepairMakesAnyHistoryLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := anyHistory(t)
		before, _ := json.Marshal(msgs)
		once := Repair(msgs)
		lawful(t, once)
		if after, _ := json.Marshal(msgs); string(before) != string(after) {
			t.Fatalf("Repair changed its argument")
		}
		if d := cmp.Diff(once, Repair(once)); d != "" {
			t.Fatalf("Repair is not idempotent: %s", d)
		}
		if open := Close(once, "why"); len(open) != 0 {
			t.Fatalf("still open: %+v", open)
		}
	})
}

func TestCloseAnswersWhatIsOpenAtTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := Repair(anyHistory(t))
		msgs = msgs[:rapid.IntRange(0, len(msgs)).Draw(t, "killed after")]
		closed := append(msgs[:len(msgs):len(msgs)], Close(msgs, "why")...)
		lawful(t, closed)
	})
}

func TestRepairMovesALateResultToItsCall(t *testing.T) {
	msgs := []wire.Message{
		{Role: wire.Assistant, Content: []wire.Part{call("a", "bash", "{}"), call("b", "bash", "{}")}},
		{Role: wire.ToolResult, ToolCallID: "b", Content: []wire.Part{text("B")}},
		user("steer"),
		{Role: wire.ToolResult, ToolCallID: "a", Content: []wire.Part{text("A")}},
	}
	want := []string{"assistant: ", "toolResult: A", "toolResult: B", "user: steer"}
	if d := cmp.Diff(want, texts(Repair(msgs))); d != "" {
		t.Error(d)
	}
}

func TestRepairTellsCallsOfOneIDApart(t *testing.T) {
	msgs := []wire.Message{
		{Role: wire.Assistant, Content: []wire.Part{call("a", "bash", "{}"), call("a", "bash", "{}")}},
		{Role: wire.ToolResult, ToolCallID: "a", Content: []wire.Part{text("first")}},
		{Role: wire.ToolResult, ToolCallID: "a", Content: []wire.Part{text("second")}},
	}
	got := Repair(msgs)
	lawful(t, got)
	if d := cmp.Diff([]string{"assistant: ", "toolResult: first", "toolResult: second"}, texts(got)); d != "" {
		t.Error(d)
	}
}

// What closes a raw history, as another program may have left it, closes it for
// good: each call of the last answer has a result that was written, and nothing
// is left to be appended.
func TestCloseClosesARawHistoryOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		msgs := anyHistory(t)
		msgs = append(msgs, Close(msgs, "written")...)
		if more := Close(msgs, "again"); len(more) != 0 {
			t.Fatalf("closed, and then %+v", more)
		}
		last := len(msgs) - 1
		for last >= 0 && msgs[last].Role != wire.Assistant {
			last--
		}
		if last < 0 || len(msgs[last].Calls()) == 0 {
			return
		}
		repaired := Repair(msgs)
		for i := len(repaired) - 1; repaired[i].Role != wire.Assistant; i-- {
			if repaired[i].PlainText() == lost {
				t.Fatalf("a result was made up although all are written: %+v", msgs)
			}
		}
	})
}
