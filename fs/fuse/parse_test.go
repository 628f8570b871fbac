package fuse

import (
	"slices"
	"testing"
)

func TestParseMount(t *testing.T) {
	for _, c := range []struct {
		line string
		want mountEntry
		ok   bool
	}{
		{"36 35 98:7 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n", mountEntry{7, "/mnt2", "ext3"}, true},
		{`41 28 0:39 / /run/my\040mount\134x rw,nosuid - fuse.mikan mikan rw,user_id=0` + "\n", mountEntry{39, `/run/my mount\x`, "fuse.mikan"}, true},
		{"41 28 0:x / /run rw - tmpfs tmpfs rw\n", mountEntry{}, false},
		{"41 28 0:3 / - tmpfs tmpfs rw\n", mountEntry{}, false},
		{"\n", mountEntry{}, false},
	} {
		if got, ok := parseMount(c.line); got != c.want || ok != c.ok {
			t.Errorf("%q: %+v, %v", c.line, got, ok)
		}
	}
}

func TestParseStatus(t *testing.T) {
	for _, c := range []struct {
		text   string
		tgid   int
		groups []uint32
	}{
		{"Name:\tbash\nTgid:\t41\nPid:\t42\nGroups:\t4 24 1000 \nVmPeak:\t1 kB\n", 41, []uint32{4, 24, 1000}},
		{"Tgid:\t41\nGroups:\t \n", 41, nil},
		{"Name:\tTgid: 9\nTgid:\tx\nGroups:\t-1 7\n", 42, []uint32{7}},
		{"", 42, nil},
	} {
		if tgid, groups := parseStatus([]byte(c.text), 42); tgid != c.tgid || !slices.Equal(groups, c.groups) {
			t.Errorf("%q: %d, %v", c.text, tgid, groups)
		}
	}
}

func TestAllowsOther(t *testing.T) {
	for text, want := range map[string]bool{
		"user_allow_other\n":        true,
		"# c\n  user_allow_other  ": true,
		"#user_allow_other\n":       false,
		"user_allow_other = 1\n":    false,
		"mount_max = 3\n":           false,
		"":                          false,
	} {
		if got := allowsOther([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
