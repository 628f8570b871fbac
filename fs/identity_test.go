package fs_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"mikan/fs"
)

func TestParseRightsReadsWhatStringWrites(t *testing.T) {
	r, err := fs.ParseRights("offices/a rw\n\n/offices/b/../c r\nlog w\n")
	ok(t, err)
	const canonical = "/offices/a rw\n/offices/c r\n/log w\n"
	if r.String() != canonical {
		t.Errorf("got %q", r)
	}
	again, err := fs.ParseRights(r.String())
	ok(t, err)
	if again.String() != canonical {
		t.Errorf("again %q", again)
	}
	none, err := fs.ParseRights("")
	ok(t, err)
	if none == nil || none.Allows("log", true, false) {
		t.Error("the empty list is not a list that allows nothing")
	}
	for _, bad := range []string{"a", "a x", "a r w", "a rwx"} {
		_, err := fs.ParseRights(bad)
		want(t, err, fs.Invalid)
	}
}

func TestRightsCoverWhatIsBelowAndShowTheWay(t *testing.T) {
	r, _ := fs.ParseRights("a/b r\na/b/c w")
	for _, c := range []struct {
		name               string
		read, write, shows bool
	}{
		{"", false, false, true},
		{"a", false, false, true},
		{"a/b", true, false, true},
		{"a/bc", false, false, false},
		{"a/b/c", true, true, true},
		{"a/b/c/d", true, true, true},
		{"z", false, false, false},
	} {
		if r.Allows(c.name, true, false) != c.read || r.Allows(c.name, false, true) != c.write ||
			r.Allows(c.name, true, true) != (c.read && c.write) || r.Shows(c.name) != c.shows {
			t.Errorf("%q: wrong", c.name)
		}
	}
	if r.Allows("z", false, false) {
		t.Error("a path outside is allowed for nothing")
	}
}

func TestRightsReplaceTheModeBits(t *testing.T) {
	rights, _ := fs.ParseRights("office/value rw\noffice/shown r\nopen/tmp rw")
	who := &fs.Identity{Name: "ext", UID: other.UID, GID: other.GID, Rights: rights}
	tree := newTree(&fs.Dir{Mode: 0o700, Children: map[string]fs.Node{
		"office": &fs.Dir{Mode: 0o700, Scratch: true, Children: map[string]fs.Node{
			"value": text("one"), "shown": text("two"), "hidden": text("three"),
		}},
		"open":    &fs.Dir{Mode: 0o777, Scratch: true},
		"secrets": &fs.Dir{Mode: 0o777},
	}})
	c := client(t, tree, who)

	ok(t, c.WriteFile(t.Context(), "office/value", []byte("new")))
	if got := read(t, c, "office/value") + read(t, c, "office/shown"); got != "newtwo" {
		t.Errorf("read %q", got)
	}
	want(t, c.WriteFile(t.Context(), "office/shown", []byte("x")), fs.Permission)
	_, err := c.ReadFile(t.Context(), "office/hidden")
	want(t, err, fs.NotExist)
	_, err = c.Stat(t.Context(), "secrets")
	want(t, err, fs.NotExist)

	list, err := c.ReadDir(t.Context(), "office")
	ok(t, err)
	if len(list) != 2 || list[0].Name != "shown" || list[1].Name != "value" {
		t.Errorf("listed %v", list)
	}
	_, err = c.Create(t.Context(), "open/other", 0o600, fs.Write)
	want(t, err, fs.Permission)
	f, err := c.Create(t.Context(), "open/tmp", 0o600, fs.Write)
	ok(t, err)
	ok(t, f.Close())
	want(t, c.Rename(t.Context(), "open/tmp", "gone"), fs.Permission)
	want(t, c.Rename(t.Context(), "office/value", "copy"), fs.Permission)
	want(t, c.Change(t.Context(), "office/shown", fs.Change{Size: new(int64)}), fs.Permission)
	ok(t, c.Remove(t.Context(), "open/tmp"))
}

func TestPermissionIsThatOfTheOwnClass(t *testing.T) {
	value := text("x")
	value.Mode = 0o046
	root := &fs.Dir{Mode: 0o711, Children: map[string]fs.Node{"v": value, "d": &fs.Dir{Mode: 0o754}}}
	tree := newTree(root)
	member := &fs.Identity{UID: 3000, GID: 300, Groups: []uint32{owner.GID}}
	super := &fs.Identity{}
	for _, c := range []struct {
		who         *fs.Identity
		reads       bool
		writes      bool
		lists, goes bool
	}{
		{owner, false, false, true, true},
		{member, true, false, true, true},
		{other, true, true, true, false},
		{super, true, true, true, true},
	} {
		client := client(t, tree, c.who)
		_, err := client.ReadFile(t.Context(), "v")
		check(t, "read", err, c.reads)
		check(t, "write", client.WriteFile(t.Context(), "v", []byte("y")), c.writes)
		_, err = client.ReadDir(t.Context(), "d")
		check(t, "list", err, c.lists)
		_, err = client.Stat(t.Context(), "d/none")
		if kind := fs.KindOf(err); kind == fs.Permission == c.goes {
			t.Errorf("uid %d walks: %v", c.who.UID, err)
		}
	}
}

func check(t *testing.T, what string, err error, allowed bool) {
	t.Helper()
	if allowed && err != nil || !allowed && fs.KindOf(err) != fs.Permission {
		t.Errorf("%s: %v; want allowed %v", what, err, allowed)
	}
}

func TestTruncatingNeedsWritePermission(t *testing.T) {
	value := text("x")
	value.Mode = 0o644
	c := client(t, newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"v": value}}), other)
	_, err := c.Open(t.Context(), "v", fs.Write|fs.Truncate)
	want(t, err, fs.Permission)
	_, err = c.Open(t.Context(), "v", fs.Read|fs.Truncate)
	want(t, err, fs.Invalid)
	want(t, c.Change(t.Context(), "v", fs.Change{Size: new(int64)}), fs.Permission)
}

func TestAttachNeedsSomeone(t *testing.T) {
	_, err := newTree(&fs.Dir{}).Attach(context.Background(), nil)
	want(t, err, fs.Permission)
}

// After the end of his rights nothing works any more: neither what he would
// begin nor what he has open.
func TestRightsThatHaveExpiredAllowNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		feed := &fs.Feed{Mode: 0o644}
		tree := newTree(&fs.Dir{Mode: 0o777, Scratch: true, Children: map[string]fs.Node{
			"v": text("one"), "feed": feed,
		}})
		rights, _ := fs.ParseRights("/ rw")
		guest := &fs.Identity{Name: "guest", UID: other.UID, Rights: rights, Until: time.Now().Add(time.Hour)}
		c := client(t, tree, guest)
		if got := read(t, c, "v"); got != "one" {
			t.Errorf("before the end: %q", got)
		}
		stream, err := c.Open(t.Context(), "feed", fs.Read)
		ok(t, err)
		file, err := c.Open(t.Context(), "v", fs.Read|fs.Write)
		ok(t, err)
		blocked := make(chan error)
		go func() {
			_, err := stream.Read(make([]byte, 10))
			blocked <- err
		}()

		want(t, <-blocked, fs.Permission) // after an hour

		feed.Publish([]byte("not for the guest"))
		_, err = stream.Read(make([]byte, 10))
		want(t, err, fs.Permission)
		_, err = file.Read(make([]byte, 10))
		want(t, err, fs.Permission)
		_, err = file.Write([]byte("x"))
		want(t, err, fs.Permission)
		want(t, file.Sync(t.Context()), fs.Permission)
		want(t, file.Truncate(t.Context(), 0), fs.Permission)
		_, err = c.Walk(t.Context(), "v")
		want(t, err, fs.Permission)
		_, err = c.ReadDir(t.Context(), "")
		want(t, err, fs.Permission)
		_, err = c.Stat(t.Context(), "")
		want(t, err, fs.Permission)
		want(t, c.Remove(t.Context(), ""), fs.Permission)
		_, err = tree.Client(t.Context(), guest)
		want(t, err, fs.Permission)
		ok(t, stream.Close())
		ok(t, file.Close())
		if got := read(t, client(t, tree, owner), "v"); got != "one" {
			t.Errorf("after it: %q", got)
		}
	})
}
