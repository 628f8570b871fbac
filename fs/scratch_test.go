package fs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mikan/fs"
)

func scratchDir(t *testing.T) *fs.Client {
	return client(t, newTree(&fs.Dir{Scratch: true, Children: map[string]fs.Node{"v": text("one")}}), owner)
}

func make1(t *testing.T, c *fs.Client, name, content string) error {
	t.Helper()
	f, err := c.Create(t.Context(), name, 0o640, fs.Write)
	if err != nil {
		return err
	}
	if _, err := f.Write([]byte(content)); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func TestScratchIsGoneAMinuteAfterItsLastClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := scratchDir(t)
		ok(t, make1(t, c, "tmp", "x"))
		f, err := c.Open(t.Context(), "tmp", fs.Read)
		ok(t, err)
		time.Sleep(time.Hour)
		_, err = c.Stat(t.Context(), "tmp")
		ok(t, err)
		ok(t, f.Close())
		time.Sleep(59 * time.Second)
		_, err = c.Stat(t.Context(), "tmp")
		ok(t, err)
		time.Sleep(2 * time.Second)
		_, err = c.Stat(t.Context(), "tmp")
		want(t, err, fs.NotExist)
	})
}

func TestScratchIsLimitedInNumber(t *testing.T) {
	c := scratchDir(t)
	for i := range 32 {
		ok(t, make1(t, c, fmt.Sprint("tmp", i), "x"))
	}
	want(t, make1(t, c, "more", "x"), fs.NoSpace)
	want(t, c.Rename(t.Context(), "v", "v~"), fs.NoSpace)
	ok(t, c.Rename(t.Context(), "tmp0", "other"))
	ok(t, c.Remove(t.Context(), "other"))
	ok(t, make1(t, c, "more", "x"))
}

func TestScratchIsASmallFileOfItsMaker(t *testing.T) {
	tree := newTree(&fs.Dir{Mode: 0o777, Scratch: true})
	mine, theirs := client(t, tree, other), client(t, tree, &fs.Identity{UID: 3000, GID: 300})
	f, err := mine.Create(t.Context(), "tmp", 0o600, fs.Read|fs.Write)
	ok(t, err)
	_, err = f.Write([]byte("hello world"))
	ok(t, err)
	ok(t, f.Truncate(t.Context(), 5))
	ok(t, f.Close())
	if got := read(t, mine, "tmp"); got != "hello" {
		t.Errorf("read %q", got)
	}
	info, err := mine.Stat(t.Context(), "tmp")
	ok(t, err)
	if info.UID != other.UID || info.Mode != 0o600 || info.Size != 5 {
		t.Errorf("info %+v", info)
	}
	_, err = theirs.ReadFile(t.Context(), "tmp")
	want(t, err, fs.Permission)
	big := int64(1<<20 + 1)
	want(t, mine.Change(t.Context(), "tmp", fs.Change{Size: &big}), fs.TooBig)
	list, err := mine.ReadDir(t.Context(), "")
	ok(t, err)
	if len(list) != 0 {
		t.Errorf("listed %v", list)
	}
	f, err = mine.Create(t.Context(), "tmp", 0o600, fs.Write) // creat(2) of what is there
	ok(t, err)
	ok(t, f.Close())
	if got := read(t, mine, "tmp"); got != "" {
		t.Errorf("read %q", got)
	}
}

func TestScratchRenamedToAComingFileMakesIt(t *testing.T) {
	made := map[string]string{}
	file := func(name string) *fs.Value {
		return &fs.Value{Set: func(_ context.Context, _ *fs.Identity, data []byte) error {
			if string(data) == "bad" {
				return fs.Errorf(fs.Invalid, "no")
			}
			made[name] = string(data)
			return nil
		}}
	}
	dir := &fs.Dir{
		Scratch: true,
		MakeFile: func(_ context.Context, _ *fs.Identity, name string) (fs.Node, error) {
			if !strings.HasSuffix(name, ".json") {
				return nil, fs.NotSupported
			}
			return file(name), nil
		},
	}
	c := client(t, newTree(dir), owner)
	ok(t, make1(t, c, "tmp", "good"))
	ok(t, c.Rename(t.Context(), "tmp", "a.json"))
	ok(t, make1(t, c, "b.json", "direct"))
	ok(t, make1(t, c, "tmp", "bad"))
	want(t, c.Rename(t.Context(), "tmp", "c.json"), fs.Invalid)
	if fmt.Sprint(made) != "map[a.json:good b.json:direct]" {
		t.Errorf("made %v", made)
	}
	if got := read(t, c, "tmp"); got != "bad" {
		t.Errorf("scratch is %q", got)
	}
}
