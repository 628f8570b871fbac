package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mikan/fs"
)

// hostTree serves dir as work, to the one who runs the test.
func hostTree(t *testing.T, dir *fs.HostDir) *fs.Client {
	t.Helper()
	me := &fs.Identity{Name: "me", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	tree := fs.NewTree(&fs.Dir{Children: map[string]fs.Node{"work": dir, "v": text("ours")}}, me.UID, me.GID)
	return client(t, tree, me)
}

// outside makes a directory with a file secret, and an inner one to serve.
func outside(t *testing.T) (dir, work string) {
	t.Helper()
	dir = t.TempDir()
	work = filepath.Join(dir, "work")
	ok(t, os.Mkdir(work, 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644))
	return dir, work
}

func TestFault_S2_hostdir_never_follows_out(t *testing.T) {
	dir, work := outside(t)
	link := func(name, target string) { ok(t, os.Symlink(target, filepath.Join(work, name))) }
	link("absolute", filepath.Join(dir, "secret"))
	link("relative", "../secret")
	link("up", "..")
	link("dangling-out", "../nothing")
	link("through", "relative")
	ok(t, os.Mkdir(filepath.Join(work, "sub"), 0o755))
	link("sub/back", "..")
	link("around", "sub/back/../secret")
	c := hostTree(t, fs.NewHostDir(work))
	ctx := t.Context()
	for _, name := range []string{
		"absolute", "relative", "up", "up/secret", "dangling-out", "through", "around", "sub/back/../../secret",
	} {
		f := attachPath(t, c, "work")
		_, err := f.Walk(ctx, strings.Split(name, "/")...)
		if name != "sub/back/../../secret" {
			want(t, err, fs.NotExist)
		} else if err == nil {
			t.Errorf("%s: found", name) // the tree's root has no such file
		}
		want(t, c.WriteFile(ctx, "work/"+name, []byte("x")), fs.NotExist)
	}
	list, err := c.ReadDir(ctx, "work")
	ok(t, err)
	if len(list) != 1 || list[0].Name != "sub" {
		t.Errorf("listed %v", list)
	}
	for _, name := range []string{"absolute", "dangling-out"} {
		if err := make1(t, c, "work/"+name, "x"); err == nil {
			t.Errorf("made a file through %s", name)
		}
	}
	if data, _ := os.ReadFile(filepath.Join(dir, "secret")); string(data) != "secret" {
		t.Errorf("the file outside is %q", data)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nothing")); err == nil {
		t.Error("a file was made outside")
	}
}

func attachPath(t *testing.T, c *fs.Client, name string) fs.Fid {
	t.Helper()
	f, err := c.Walk(t.Context(), name)
	ok(t, err)
	return f
}

// Someone swaps a file, and the directory above it, for links that lead out
// while others read and write: nothing from outside is ever seen or touched.
func TestFault_S2_hostdir_swapped(t *testing.T) {
	dir, work := outside(t)
	ok(t, os.Mkdir(filepath.Join(dir, "d"), 0o755))
	ok(t, os.WriteFile(filepath.Join(dir, "d", "f"), []byte("secret"), 0o644))
	c := hostTree(t, fs.NewHostDir(work))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		d, f := filepath.Join(work, "d"), filepath.Join(work, "f")
		for {
			select {
			case <-stop:
				return
			default:
			}
			os.Mkdir(d, 0o755)
			os.WriteFile(filepath.Join(d, "f"), []byte("inside"), 0o644)
			os.WriteFile(f, []byte("inside"), 0o644)
			os.RemoveAll(d)
			os.Remove(f)
			os.Symlink("../d", d)
			os.Symlink("../secret", f)
			os.Remove(d)
			os.Remove(f)
		}
	})
	seen := map[string]int{}
	for range 500 {
		for _, name := range []string{"work/f", "work/d/f"} {
			data, err := c.ReadFile(t.Context(), name)
			if err == nil {
				seen[string(data)]++
			}
			c.WriteFile(t.Context(), name, []byte("inside"))
			make1(t, c, name, "inside")
		}
	}
	close(stop)
	wg.Wait()
	if seen["secret"] > 0 {
		t.Errorf("read %v", seen)
	}
	for _, name := range []string{"secret", "d/f"} {
		if data, _ := os.ReadFile(filepath.Join(dir, name)); string(data) != "secret" {
			t.Errorf("%s outside is %q", name, data)
		}
	}
}

func TestLinksInsideAreFollowedWithTheRightsOfTheWay(t *testing.T) {
	_, work := outside(t)
	ok(t, os.MkdirAll(filepath.Join(work, "private"), 0o700))
	ok(t, os.WriteFile(filepath.Join(work, "private", "f"), []byte("hidden"), 0o644))
	ok(t, os.MkdirAll(filepath.Join(work, "sub"), 0o755))
	ok(t, os.WriteFile(filepath.Join(work, "sub", "f"), []byte("inside"), 0o644))
	for name, target := range map[string]string{
		"dir": "sub", "file": "sub/f", "chain": "dir/f", "sub/peer": "../file", "dangling": "sub/none",
		"loop": "loop", "peek": "private/f",
	} {
		ok(t, os.Symlink(target, filepath.Join(work, name)))
	}
	ok(t, os.Chmod(work, 0o755))
	c := hostTree(t, fs.NewHostDir(work))
	for _, name := range []string{"dir/f", "file", "chain", "sub/peer", "dir/peer"} {
		if got := read(t, c, "work/"+name); got != "inside" {
			t.Errorf("%s: %q", name, got)
		}
	}
	info, err := c.Stat(t.Context(), "work/file")
	ok(t, err)
	target, err := attachPath(t, c, "work/file").Readlink(t.Context())
	ok(t, err)
	if info.Mode.Type() != fs.ModeSymlink || target != "sub/f" {
		t.Errorf("link %v to %q", info.Mode, target)
	}
	for name, kind := range map[string]fs.Kind{"dangling": fs.NotExist, "loop": fs.NotExist, "sub/peer/x": fs.NotDir} {
		_, err := c.ReadFile(t.Context(), "work/"+name)
		want(t, err, kind)
	}
	tree := fs.NewTree(fs.NewHostDir(work), 0, 0)
	_, err = client(t, tree, other).ReadFile(t.Context(), "peek")
	want(t, err, fs.Permission)
}

// Nothing that an open could wait for, or that is no file, exists.
func TestHostDirServesNeitherPipesNorSockets(t *testing.T) {
	_, work := outside(t)
	ok(t, syscall.Mkfifo(filepath.Join(work, "fifo"), 0o666))
	ok(t, os.Symlink("fifo", filepath.Join(work, "to-fifo")))
	c := hostTree(t, fs.NewHostDir(work))
	for _, how := range []fs.Flags{fs.Read, fs.Write, fs.Read | fs.Write} {
		for _, name := range []string{"work/fifo", "work/to-fifo"} {
			_, err := c.Open(t.Context(), name, how)
			want(t, err, fs.NotExist)
		}
	}
	list, err := c.ReadDir(t.Context(), "work")
	ok(t, err)
	for _, info := range list {
		if info.Name == "fifo" {
			t.Error("the pipe is listed")
		}
	}
}

func TestHostDirRenamesAcrossItsDirectoriesAndNoFurther(t *testing.T) {
	_, work := outside(t)
	c := hostTree(t, fs.NewHostDir(work))
	ctx := t.Context()
	ok(t, c.Mkdir(ctx, "work/a", 0o755))
	ok(t, c.Mkdir(ctx, "work/b", 0o755))
	ok(t, make1(t, c, "work/a/f", "x"))
	f, to := attachPath(t, c, "work/a/f"), attachPath(t, c, "work/b")
	ok(t, f.Rename(ctx, to, "g"))
	if info, err := f.Stat(ctx); info.Name != "g" || err != nil {
		t.Errorf("stands on %q, %v", info.Name, err)
	}
	if got := read(t, c, "work/b/g"); got != "x" {
		t.Errorf("read %q", got)
	}
	ok(t, f.Rename(ctx, attachPath(t, c, "work"), "top"))
	want(t, attachPath(t, c, "work/top").Rename(ctx, attachPath(t, c, ""), "out"), fs.CrossDevice)
	want(t, attachPath(t, c, "work/a").Rename(ctx, attachPath(t, c, "work/a"), "in"), fs.Invalid)
	want(t, attachPath(t, c, "work").Rename(ctx, nil, "x"), fs.Fixed)
	want(t, attachPath(t, c, "").Rename(ctx, nil, "x"), fs.Fixed)
}

func TestHostDirChangesAttributes(t *testing.T) {
	_, work := outside(t)
	c := hostTree(t, fs.NewHostDir(work))
	ok(t, make1(t, c, "work/f", "content"))
	size, when := int64(4), time.Unix(1e9, 0)
	mode := os.ModeSetuid | 0o700
	ok(t, c.Change(t.Context(), "work/f", fs.Change{Size: &size, MTime: &when, Mode: &mode}))
	fi, err := os.Stat(filepath.Join(work, "f"))
	ok(t, err)
	if fi.Size() != 4 || !fi.ModTime().Equal(when) || fi.Mode() != 0o700 {
		t.Errorf("size %d, time %v, mode %v", fi.Size(), fi.ModTime(), fi.Mode())
	}
	info, err := c.Stat(t.Context(), "work/f")
	ok(t, err)
	if info.Size != 4 || info.UID != uint32(os.Getuid()) || info.ID == 0 {
		t.Errorf("info %+v", info)
	}
}

func TestAReadOnlyHostDirRefusesEveryChange(t *testing.T) {
	_, work := outside(t)
	ok(t, os.WriteFile(filepath.Join(work, "f"), []byte("x"), 0o644))
	dir := fs.NewHostDir(work)
	dir.ReadOnly = true
	c := hostTree(t, dir)
	ctx, mode, size := t.Context(), fs.FileMode(0o600), int64(0)
	want(t, c.WriteFile(ctx, "work/f", []byte("y")), fs.ReadOnly)
	want(t, make1(t, c, "work/g", "y"), fs.ReadOnly)
	want(t, c.Mkdir(ctx, "work/d", 0o755), fs.ReadOnly)
	want(t, c.Remove(ctx, "work/f"), fs.ReadOnly)
	want(t, c.Rename(ctx, "work/f", "g"), fs.ReadOnly)
	want(t, c.Change(ctx, "work/f", fs.Change{Mode: &mode}), fs.ReadOnly)
	want(t, c.Change(ctx, "work/f", fs.Change{Size: &size}), fs.ReadOnly)
	if got := read(t, c, "work/f"); got != "x" {
		t.Errorf("read %q", got)
	}
}

func TestAHostDirThatIsGoneDoesNotExistAndTellsNoHostPath(t *testing.T) {
	_, work := outside(t)
	c := hostTree(t, fs.NewHostDir(work))
	ok(t, os.RemoveAll(work))
	_, err := c.ReadDir(t.Context(), "work")
	want(t, err, fs.NotExist)
	_, err = c.Open(t.Context(), "work/f", fs.Read)
	want(t, err, fs.NotExist)
	if strings.Contains(err.Error(), filepath.Dir(work)) {
		t.Errorf("error %v", err)
	}
	list, err := c.ReadDir(t.Context(), "")
	ok(t, err)
	if len(list) != 1 {
		t.Errorf("listed %v", list)
	}
}

func TestAnOpenHostFileIsTheOneThatWasOpened(t *testing.T) {
	_, work := outside(t)
	c := hostTree(t, fs.NewHostDir(work))
	ok(t, make1(t, c, "work/f", "old"))
	f, err := c.Open(t.Context(), "work/f", fs.Read)
	ok(t, err)
	defer f.Close()
	ok(t, c.Remove(t.Context(), "work/f"))
	info, err := f.Stat(t.Context())
	ok(t, err)
	p := make([]byte, 10)
	if n, err := f.Read(p); string(p[:n]) != "old" || err != nil || info.Size != 3 {
		t.Errorf("read %q, %v; size %d", p[:n], err, info.Size)
	}
}
