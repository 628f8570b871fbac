package runtime

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mikan/runtime/store"
)

func TestHeardText_is_bounded_and_keeps_the_newest(t *testing.T) {
	var u store.Unheard
	for range store.HeardLines {
		u.Lines = append(u.Lines, store.Line{Time: time.Now(), Name: "ann", Text: strings.Repeat("日本", 2000)})
	}
	u.Lines = append(u.Lines, store.Line{Time: time.Now(), Name: "ann", Text: "the newest"})
	text := heardText(u, maxHeard)
	if len(text) > maxHeard+len(heardHead)+len(heardMore)+1 || !strings.HasSuffix(text, "]: the newest\n") || !utf8.ValidString(text) {
		t.Errorf("%d bytes, ending in %q", len(text), text[len(text)-40:])
	}
	head, lines, _ := strings.Cut(text, "\n")
	if head != heardHead+heardMore {
		t.Errorf("head %q", head)
	}
	for line := range strings.Lines(lines) {
		if len(line) > maxHeardLine+100 || !strings.HasPrefix(line, "[20") {
			t.Fatalf("a line of %d bytes: %.60q", len(line), line)
		}
	}
	broken := store.Unheard{Lines: []store.Line{{Time: time.Now(), Name: "ann", Text: "a" + strings.Repeat("\n", 8000) + "b"}}}
	if text := heardText(broken, 4096); !strings.Contains(text, "[ann]: a") || len(text) > 4096+len(heardHead)+1 {
		t.Errorf("%d bytes are told of one line", len(text))
	}
	if text := heardText(store.Unheard{Lines: []store.Line{{Ours: true, Text: "_Triggered by @ann_"}}, More: true}, maxHeard); text != "" {
		t.Errorf("nothing is said as %q", text)
	}
}

func TestUnsigned(t *testing.T) {
	for text, want := range map[string]string{
		"done\n\n_Triggered by @ann_":                                     "done",
		"done\n_Triggered by @ann_\n\n_Triggered by [event: a b]_":        "done",
		"done\n_Triggered by [event: x]_ · session: <http://h/s?token=1>": "done",
		"_Triggered by @ann_":                                             "",
		"done _Triggered by @ann_":                                        "done _Triggered by @ann_",
		"_Triggered by @ann_\nis what stands at the end":                  "_Triggered by @ann_\nis what stands at the end",
		"_Triggered by hand_":                                             "_Triggered by hand_",
	} {
		if got := unsigned(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
