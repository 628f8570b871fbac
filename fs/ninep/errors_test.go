package ninep_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mikan/fs"
	"mikan/fs/ninep"
)

// kinds is every kind of error.
func kinds() (list []fs.Kind) {
	for k := fs.IO; k <= fs.CrossDevice; k++ {
		list = append(list, k)
	}
	return list
}

func TestErrors_cross_the_wire_with_their_kind_and_fit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom(kinds()).Draw(t, "kind")
		text := rapid.String().Draw(t, "text")
		room := rapid.IntRange(256-9, 65535-9).Draw(t, "room")
		dialect := rapid.Bool().Draw(t, "dialect")

		ename := ninep.Ename(fs.Errorf(kind, "%s", text), dialect, room)
		if len(ename) > room || dialect && ename != kind.String() {
			t.Fatalf("ename %q", ename)
		}
		got := ninep.ParseEname(ename)
		if got.Kind != kind {
			t.Fatalf("ename %q has the kind %v; want %v", ename, got.Kind, kind)
		}
		if !strings.HasPrefix(text, got.Text) || utf8.ValidString(text) && !utf8.ValidString(got.Text) {
			t.Fatalf("the sentence of %q is %q", ename, got.Text)
		}
	})
}

func TestErrors_of_other_servers_are_understood(t *testing.T) {
	for text, kind := range map[string]fs.Kind{
		"No such file or directory": fs.NotExist,
		"Permission denied":         fs.Permission,
		"open: Is a directory":      fs.IsDir,
		"duplicate fid":             fs.IO,
	} {
		if got := ninep.ParseEname(text); got.Kind != kind {
			t.Errorf("%q has the kind %v; want %v", text, got.Kind, kind)
		}
	}
	if got := ninep.ParseEname("the sky fell"); got.Text != "the sky fell" {
		t.Errorf("an unknown text became %q", got.Text)
	}
}

func TestErrors_that_are_none_of_the_tree_are_classified(t *testing.T) {
	if got := ninep.Ename(syscall.ENOSPC, true, 100); got != "file system is full" {
		t.Errorf("ENOSPC is %q", got)
	}
	if got := ninep.Ename(errors.New("broken"), false, 100); got != "broken: i/o error" {
		t.Errorf("an unknown error is %q", got)
	}
}
