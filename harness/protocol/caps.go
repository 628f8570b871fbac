package protocol

import (
	"cmp"

	"mikan/harness"
	"mikan/wire"
)

// What nearly every server takes in one request.
const (
	commonBody       = 20 << 20
	commonImages     = 100
	commonImageBytes = 5 << 20
)

// capsOf are a model's caps, the common ones where it has none of its own.
func capsOf(m harness.Model) harness.Caps {
	return harness.Caps{
		Body:       cmp.Or(m.Caps.Body, commonBody),
		Images:     cmp.Or(m.Caps.Images, commonImages),
		ImageBytes: cmp.Or(m.Caps.ImageBytes, commonImageBytes),
	}
}

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
