package protocol

import (
	"mikan/harness"
	"mikan/wire"
)

// fitText shortens the results of tools until the text of a request takes at
// most room bytes, and returns the room that is left. The beginning and the end
// of a result stay.
func fitText(msgs []wire.Message, room int) (left int) {
	for size := 1 << 20; ; size /= 4 {
		if left = room - textBytes(msgs); left >= 0 || size < 1<<10 {
			return left
		}
		for i := range msgs {
			if msgs[i].Role != wire.ToolResult {
				continue
			}
			for j := range msgs[i].Content { // a copy; see [Prepare]
				msgs[i].Content[j].Text = harness.Clip(msgs[i].Content[j].Text, size)
			}
		}
	}
}

// textBytes is at most how many bytes of a body msgs take without their images.
func textBytes(msgs []wire.Message) (n int) {
	for _, m := range msgs {
		n += partBytes
		for _, p := range m.Content {
			n += partBytes + escaped(p.Text) + escaped(p.Thinking) + escaped(p.ThinkingSignature) +
				escaped(p.TextSignature) + escaped(p.ThoughtSignature) + escaped(string(p.Arguments))
		}
	}
	return n
}

// otherBytes is at most how many bytes a request takes besides its messages.
func otherBytes(req harness.Request) int {
	n := 16<<10 + escaped(req.System)
	for _, t := range req.Tools {
		n += partBytes + escaped(t.Name) + escaped(t.Description) + escaped(string(t.Schema))
	}
	return n
}

// partBytes is more than any protocol puts around a part.
const partBytes = 320

// escaped is at most how many bytes s takes as a JSON string.
func escaped(s string) int {
	n := len(s) + 2
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\', c == '\n', c == '\r', c == '\t':
			n++
		case c < ' ', c == '<', c == '>', c == '&', c == 0xe2: // the last begins U+2028
			n += 5
		}
	}
	return n
}
