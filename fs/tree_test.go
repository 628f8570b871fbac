package fs_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"mikan/fs"
)

var (
	owner = &fs.Identity{Name: "owner", UID: 1000, GID: 100}
	other = &fs.Identity{Name: "other", UID: 2000, GID: 200}
)

// text is a value that is kept in memory and refuses "bad".
func text(content string) *fs.Value {
	data, mtime := []byte(content), time.Unix(1e9, 0)
	return &fs.Value{
		Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) { return data, mtime, nil },
		Set: func(_ context.Context, _ *fs.Identity, next []byte) error {
			if strings.HasPrefix(string(next), "bad") {
				return fs.Errorf(fs.Invalid, "the value is bad; write a good one")
			}
			data, mtime = next, mtime.Add(time.Second)
			return nil
		},
	}
}

func newTree(root fs.Node) *fs.Tree { return fs.NewTree(root, owner.UID, owner.GID) }

func client(t *testing.T, tree *fs.Tree, who *fs.Identity) *fs.Client {
	t.Helper()
	c, err := tree.Client(t.Context(), who)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func want(t *testing.T, err error, kind fs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v; want %q", err, kind)
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, c *fs.Client, name string) string {
	t.Helper()
	data, err := c.ReadFile(t.Context(), name)
	ok(t, err)
	return string(data)
}

func TestErrstrIsTheCallersOwnLastError(t *testing.T) {
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"v": text("one")}}
	tree := newTree(root)
	root.Add("errstr", tree.Errstr())
	mine, theirs := client(t, tree, owner), client(t, tree, other)

	want(t, mine.WriteFile(t.Context(), "v", []byte("bad")), fs.Invalid)
	want(t, theirs.WriteFile(t.Context(), "v", []byte("x")), fs.Permission)
	if got := read(t, mine, "errstr"); got != "sync v: the value is bad; write a good one\n" {
		t.Errorf("mine: %q", got)
	}
	if got := read(t, theirs, "errstr"); got != "open v: permission denied\n" {
		t.Errorf("theirs: %q", got)
	}
	if _, err := mine.Stat(t.Context(), "nothing"); !errors.Is(err, fs.NotExist) {
		t.Errorf("stat: %v", err)
	}
	if got := read(t, mine, "errstr"); !strings.Contains(got, "bad") {
		t.Errorf("looking for a file changed it: %q", got)
	}
	info, err := mine.Stat(t.Context(), "errstr")
	ok(t, err)
	if info.Size != int64(len("sync v: the value is bad; write a good one\n")) {
		t.Errorf("size %d", info.Size)
	}
}

func TestValueRoundTrip(t *testing.T) {
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("one")}})
	c := client(t, tree, owner)
	ok(t, c.WriteFile(t.Context(), "/v", []byte("two, longer")))
	if got := read(t, c, "v"); got != "two, longer" {
		t.Errorf("got %q", got)
	}
}

func TestCtlRunsLines(t *testing.T) {
	var lines []string
	ctl := &fs.Ctl{Run: func(_ context.Context, _ *fs.Identity, line string) error {
		lines = append(lines, line)
		return nil
	}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"ctl": ctl}}), owner)
	ok(t, c.WriteFile(t.Context(), "ctl", []byte("one\ntwo\r\n\nthree")))
	if got := strings.Join(lines, "|"); got != "one|two|three" {
		t.Errorf("ran %q", got)
	}
}
