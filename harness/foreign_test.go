package harness

import (
	"context"
	"strings"
	"testing"

	"mikan/wire"
)

func TestForeign_bounds_what_a_tool_gives(t *testing.T) {
	s := newShell(t)
	picture := wire.Part{Type: wire.Image, MimeType: "image/png"}
	parts := []wire.Part{wire.TextPart("a\x00b\xff"), wire.TextPart("c")}
	for range 10 {
		parts = append(parts, picture)
	}
	got := Foreign(context.Background(), s, "tool", parts)
	if len(got) != 9 || got[1].Type != wire.Image || got[8].MimeType != "image/png" {
		t.Fatalf("%d parts", len(got))
	}
	left := "\n[an image was left out: a result has at most 8]"
	if want := "ab\uFFFD\nc" + left + left; got[0].Text != want {
		t.Errorf("%q; want %q", got[0].Text, want)
	}
	if got := Foreign(context.Background(), s, "tool", nil); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestForeign_leaves_the_whole_of_a_long_text_in_a_file(t *testing.T) {
	s := newShell(t)
	for _, text := range []string{numbered(1, 5000), strings.Repeat("é", 60_000)} {
		got := Foreign(context.Background(), s, "tool", []wire.Part{wire.TextPart(text)})
		shown, notice, ok := strings.Cut(got[0].Text, "\n\n[The first ")
		if !ok || len(shown) > maxBytes+1 || !strings.HasPrefix(text, shown) {
			t.Fatalf("%d bytes, %q", len(shown), notice)
		}
		_, name, _ := strings.Cut(strings.TrimSuffix(notice, "]"), "Full output: ")
		if s.get(t, name) != text {
			t.Errorf("%s is not the whole", name)
		}
	}
}
