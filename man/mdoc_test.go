package man

import (
	"strings"
	"testing"

	"mikan/fs"
)

func TestProse_beginsALineWithEachSentence(t *testing.T) {
	for _, c := range []struct{ have, want string }{
		{"", ""},
		{"One. Two, e.g. this.", "One.\nTwo, e.g. this.\n"},
		{"settings.json is read.", "settings.json is read.\n"},
		{".profile and 'quotes'", `\&.profile and 'quotes'` + "\n"},
		{`a\b`, `a\eb` + "\n"},
	} {
		if got := prose(c.have); got != c.want {
			t.Errorf("prose(%q) is %q, want %q", c.have, got, c.want)
		}
	}
}

func TestProse_breaksLongLinesAndHidesRequests(t *testing.T) {
	got := prose(strings.Repeat(".so ", 40))
	for line := range strings.Lines(got) {
		if len(line) > width+3 || strings.HasPrefix(line, ".") {
			t.Errorf("line %q", line)
		}
	}
}

func TestFailures_marksTheErrors(t *testing.T) {
	got := failures("EAGAIN, EINVAL: as for prompt. mkdir: EEXIST.")
	if want := ".Er EAGAIN , EINVAL :\nas for prompt. mkdir: EEXIST.\n"; got != want {
		t.Errorf("have %q, want %q", got, want)
	}
}

func TestErrors_everyKindIsInTheTable(t *testing.T) {
	table, err := errorTable()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table, ".It Er "); n != len(meanings) || n != int(fs.CrossDevice)+1 {
		t.Errorf("%d errors, %d meanings", n, len(meanings))
	}
	defer func() {
		if recover() == nil {
			t.Errorf("the kind after %q is not in the manual: let the table go on to it", fs.CrossDevice)
		}
	}()
	_ = (fs.CrossDevice + 1).String()
}
