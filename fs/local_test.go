package fs_test

import (
	"context"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/fs"
)

func attach(t *testing.T, tree *fs.Tree, names ...string) fs.Fid {
	t.Helper()
	root, err := tree.Attach(t.Context(), owner)
	ok(t, err)
	if len(names) == 0 {
		return root
	}
	f, err := root.Walk(t.Context(), names...)
	ok(t, err)
	return f
}

func TestAFidHasOneLife(t *testing.T) {
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("one")}})
	f := attach(t, tree, "v")
	ctx := t.Context()
	_, err := f.Read(ctx, make([]byte, 1), 0)
	want(t, err, fs.BadFid)
	ok(t, f.Open(ctx, fs.Read))
	want(t, f.Open(ctx, fs.Read), fs.BadFid)
	_, err = f.Walk(ctx)
	want(t, err, fs.BadFid)
	_, err = f.Write(ctx, []byte("x"), 0)
	want(t, err, fs.BadFid)
	_, err = f.Read(ctx, make([]byte, 1), -1)
	want(t, err, fs.Invalid)
	ok(t, f.Clunk(ctx))
	_, err = f.Stat(ctx)
	want(t, err, fs.BadFid)
	_, err = f.Read(ctx, make([]byte, 1), 0)
	want(t, err, fs.BadFid)
	want(t, f.Clunk(ctx), fs.BadFid)

	g := attach(t, tree, "v")
	want(t, g.Remove(ctx), fs.Fixed)
	want(t, g.Clunk(ctx), fs.BadFid)
}

func TestWalkGoesUpToTheRootAndNoFurther(t *testing.T) {
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"d": &fs.Dir{Children: map[string]fs.Node{"v": text("deep")}}}})
	f := attach(t, tree, "..", "d", "..", "..", "d", "v")
	info, err := f.Stat(t.Context())
	ok(t, err)
	if info.Name != "v" || info.UID != owner.UID || info.GID != owner.GID || info.ID == 0 || info.MTime.IsZero() {
		t.Errorf("info %+v", info)
	}
	root, err := attach(t, tree).Stat(t.Context())
	ok(t, err)
	if root.Name != "/" || root.ID == info.ID {
		t.Errorf("root %+v", root)
	}
	_, err = f.Walk(t.Context(), "..")
	want(t, err, fs.NotDir)
}

func TestAnEmptyWalkIsACopy(t *testing.T) {
	f := attach(t, newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("one")}}), "v")
	g, err := f.Walk(t.Context())
	ok(t, err)
	ok(t, f.Clunk(t.Context()))
	ok(t, g.Open(t.Context(), fs.Read))
}

func TestHostileNamesAreRefused(t *testing.T) {
	tree := newTree(&fs.Dir{Mode: 0o777, Scratch: true, Children: map[string]fs.Node{
		"work": fs.NewHostDir(t.TempDir()), "v": text("one"),
	}})
	for name, kind := range map[string]fs.Kind{
		"": fs.Invalid, ".": fs.Invalid, "a/b": fs.Invalid, "/": fs.Invalid, "a\x00b": fs.Invalid,
		"../../etc": fs.Invalid, strings.Repeat("x", 256): fs.NameTooLong,
	} {
		for _, dir := range []string{"", "work"} {
			var at []string
			if dir != "" {
				at = []string{dir}
			}
			_, err := attach(t, tree).Walk(t.Context(), append(at, name)...)
			want(t, err, kind)
			want(t, attach(t, tree, at...).Create(t.Context(), name, 0o600, fs.Write), kind)
		}
		want(t, attach(t, tree, "v").Rename(t.Context(), nil, name), kind)
	}
	want(t, attach(t, tree).Create(t.Context(), "..", 0o600, fs.Write), fs.Invalid)
	want(t, attach(t, tree).Create(t.Context(), "..", fs.ModeDir|0o700, fs.Read), fs.Invalid)
}

// Whoever makes a file may leave out what would take something.
func TestAFileWithNothingBehindItTakesNothing(t *testing.T) {
	files := map[string]fs.Node{
		"value": &fs.Value{}, "secret": &fs.Secret{}, "ctl": &fs.Ctl{}, "body": &fs.Body{}, "ask": &fs.Ask{},
	}
	c := client(t, newTree(&fs.Dir{Children: files}), &fs.Identity{Name: "root"})
	for name := range files {
		_, err := c.Open(t.Context(), name, fs.Write)
		want(t, err, fs.Permission)
	}
}

// No sequence of operations, with whatever names, makes the tree panic.
func TestNothingPanics(t *testing.T) {
	dir := t.TempDir()
	take := func(context.Context, *fs.Identity, []byte) error { return nil }
	tree := newTree(&fs.Dir{Mode: 0o777, Scratch: true, Children: map[string]fs.Node{
		"work": fs.NewHostDir(dir), "v": text("one"), "feed": &fs.Feed{}, "service": &fs.Service{}, fs.BodyDir: &fs.Bodies{},
		"body": &fs.Body{Commit: take}, "secret": &fs.Secret{Set: take}, "ask": &fs.Ask{}, "ctl": &fs.Ctl{},
	}})
	names := rapid.SampledFrom([]string{"work", "v", "feed", "body", "secret", "ask", "ctl", "service", fs.BodyDir, "a", "b", "..", ".", "", "x/y", "\x00", "é\xff"})
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		f, err := tree.Attach(ctx, owner)
		ok(t, err)
		p := make([]byte, 16)
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			name := names.Draw(rt, "name")
			size := rapid.Int64Range(-1, 1<<40).Draw(rt, "size")
			how := fs.Flags(rapid.IntRange(0, 9).Draw(rt, "how"))
			switch rapid.IntRange(0, 9).Draw(rt, "op") {
			case 0, 1:
				if g, err := f.Walk(ctx, name); err == nil {
					f = g
				}
			case 2:
				f.Open(ctx, how)
			case 3:
				f.Create(ctx, name, fs.FileMode(how)<<6, how)
			case 4:
				if info, err := f.Stat(ctx); err == nil && !info.Stream() {
					f.Read(ctx, p, size)
				}
			case 5:
				f.Write(ctx, p, size>>20)
			case 6:
				f.Truncate(ctx, size>>20)
			case 7:
				f.Rename(ctx, nil, name)
			case 8:
				f.ReadDir(ctx)
			case 9:
				f.Change(ctx, fs.Change{Size: &size})
			}
		}
		f.Clunk(ctx)
	})
}

func TestOneBrokenFileDoesNotHideItsNeighbours(t *testing.T) {
	broken := &fs.Log{Source: brokenSource{}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"a": broken, "b": text("one")}}), owner)
	list, err := c.ReadDir(t.Context(), "")
	ok(t, err)
	if len(list) != 2 || list[0].Name != "a" || list[1].Size != 3 {
		t.Errorf("listed %v", list)
	}
	_, err = c.Stat(t.Context(), "a")
	want(t, err, fs.IO)
}
