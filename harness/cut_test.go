package harness

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// bigText draws texts around the limits, with characters of many bytes.
var bigText = rapid.Custom(func(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "blocks") {
		unit := rapid.SampledFrom([]string{"a", "\n", "a\n", "日本\n", "👩‍🚀", "e\u0301", "🇩🇪", strings.Repeat("w", 99) + "\n"}).Draw(t, "unit")
		b.WriteString(strings.Repeat(unit, rapid.SampledFrom([]int{1, 3, 700, 2100, 30_000}).Draw(t, "times")))
	}
	return b.String()
})

func TestCutsAreWithinTheLimitsAndBetweenLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := bigText.Draw(t, "text")
		check := func(part string) {
			if len(part) > maxBytes || strings.Count(part, "\n") >= maxLines && part != "" || !utf8.ValidString(part) {
				t.Fatalf("%d bytes, %d lines", len(part), strings.Count(part, "\n")+1)
			}
		}
		head, cut := headOf(s)
		check(head)
		if !strings.HasPrefix(s, head) || cut != (len(head) < len(s)) || cut && head != "" && s[len(head)] != '\n' {
			t.Fatalf("head of %d bytes is torn", len(head))
		}
		tail, partial := tailOf(s)
		check(tail)
		at := len(s) - len(tail)
		switch {
		case !strings.HasSuffix(s, tail):
			t.Fatalf("not the end")
		case !partial && at > 0 && s[at-1] != '\n':
			t.Fatalf("the tail is torn")
		case partial && (strings.Contains(tail, "\n") || joined(s, at)):
			t.Fatalf("the line is torn within a character")
		case partial && len(tail) < maxBytes-maxCluster-utf8.UTFMax:
			t.Fatalf("only %d bytes", len(tail))
		}
	})
}

func TestFault_F6_no_character_is_torn(t *testing.T) {
	for _, cluster := range []string{
		"日", "é", "e\u0301\u0323", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇯🇵", "\r\n", "각", "각", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿",
	} {
		s := "x" + cluster + cluster + "y"
		ends := map[int]bool{1: true, 1 + len(cluster): true, 1 + 2*len(cluster): true}
		for i := 1; i <= 1+2*len(cluster); i++ {
			if at := whole(s, i); !ends[at] {
				t.Errorf("%q (%x) is cut at %d", cluster, cluster, at-1)
			}
		}
	}
}

func TestACutThroughEndlessMarksGivesUp(t *testing.T) {
	s := "a" + strings.Repeat("\u0301", 10_000)
	if at := whole(s, 500); at != 501 {
		t.Errorf("cut at %d", at)
	}
}
