package harness

import (
	"fmt"
	"slices"

	"mikan/wire"
)

// The sizes, in bytes, down to which texts are cut, one after the other.
const (
	largestCut  = 32 << 10
	smallestCut = 1 << 10
)

// shrink returns msgs with the results of tools cut so that they take about over
// tokens less, and whether anything was cut. The largest lose most, and pictures
// go last. What cannot be cut stays: the server has the last word.
func shrink(msgs []wire.Message, over int) (out []wire.Message, cut bool) {
	want := estimateAll(msgs) - over
	for size := largestCut; size >= smallestCut; size /= 2 {
		if out = cutResults(msgs, size, true); estimateAll(out) <= want {
			return out, true
		}
	}
	out = cutResults(msgs, smallestCut, false)
	return out, estimateAll(out) < estimateAll(msgs)
}

// cutResults returns msgs with no text of a tool's result longer than size.
func cutResults(msgs []wire.Message, size int, pictures bool) []wire.Message {
	out := slices.Clone(msgs)
	for i, m := range out {
		if m.Role != wire.ToolResult {
			continue
		}
		out[i].Content = slices.Clone(m.Content)
		for j, p := range m.Content {
			switch {
			case p.Type == wire.Text:
				out[i].Content[j].Text = Clip(p.Text, size)
			case p.Type == wire.Image && !pictures:
				out[i].Content[j] = wire.TextPart("[image left out: the model's window is full]")
			}
		}
	}
	return out
}

// Clip is s cut to about room bytes: its beginning, a note of how much is left
// out, and its end. No character is torn.
func Clip(s string, room int) string {
	if len(s) <= room+room/8 { // the note takes room too
		return s
	}
	head, tail := whole(s, room/2), whole(s, len(s)-room/2)
	if head >= tail {
		return s
	}
	return s[:head] + fmt.Sprintf("\n[… %s left out here; ask for the part that you need …]\n", size(tail-head)) + s[tail:]
}
