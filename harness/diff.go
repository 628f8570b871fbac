package harness

import (
	"fmt"
	"strconv"
	"strings"
)

// around is how many lines before and after a change are shown.
const around = 4

// diff shows the change by lines: number and text, with - those that are gone,
// + those that are new, and a few lines around them.
func (c change) diff() string {
	before := lines(c.text)
	after := lines(c.apply())
	same := 0
	for same < min(len(before), len(after)) && before[same] == after[same] {
		same++
	}
	tail := 0
	for tail < min(len(before), len(after))-same && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	width := len(strconv.Itoa(max(len(before), len(after))))
	var b strings.Builder
	show := func(sign byte, from int, ls []string) {
		for i, s := range ls {
			fmt.Fprintf(&b, "%c%*d %s\n", sign, width, from+i+1, strings.ToValidUTF8(strings.TrimSuffix(s, "\r"), "\uFFFD"))
		}
	}
	first := max(0, same-around)
	gone, come := len(before)-tail, len(after)-tail
	show(' ', first, before[first:same])
	show('-', same, before[same:gone])
	show('+', same, after[same:come])
	show(' ', come, after[come:min(len(after), come+around)])
	shown, cut := headOf(strings.TrimSuffix(b.String(), "\n"))
	if cut {
		shown += "\n[The rest of the change is not shown]"
	}
	return shown
}

// lines splits a text into its lines, without their \n.
func lines(s string) []string {
	s = strings.TrimPrefix(s, bom)
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\n"), "\n")
}
