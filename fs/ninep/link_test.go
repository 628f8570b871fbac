package ninep_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mikan/fs"
	"mikan/fs/ninep"
)

func TestLinks_look_like_what_they_lead_to(t *testing.T) {
	host := t.TempDir()
	for _, step := range []error{
		os.Mkdir(filepath.Join(host, "dir"), 0o755),
		os.WriteFile(filepath.Join(host, "dir", "file"), []byte("content"), 0o644),
		os.Symlink("dir/file", filepath.Join(host, "tofile")),
		os.Symlink("dir", filepath.Join(host, "todir")),
		os.Symlink("../tofile", filepath.Join(host, "dir", "chain")),
		os.Symlink("loop", filepath.Join(host, "loop")),
		os.Symlink("/etc/passwd", filepath.Join(host, "outside")),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	who := &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}
	root := &fs.Dir{Children: map[string]fs.Node{"files": fs.NewHostDir(host)}}
	nc, _ := serve(t, fs.NewTree(root, who.UID, who.GID), who)
	c, err := ninep.NewClient(t.Context(), nc)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	list, err := c.ReadDir(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]fs.Info{}
	for _, info := range list {
		seen[info.Name] = info
	}
	if f := seen["tofile"]; f.Mode != 0o644 || f.Size != 7 {
		t.Errorf("the link to a file is listed as %+v", f)
	}
	if d := seen["todir"]; !d.Mode.IsDir() {
		t.Errorf("the link to a directory is listed as %+v", d)
	}
	for _, name := range []string{"files/tofile", "files/todir/file", "files/todir/chain", "files/dir/chain"} {
		if got, err := c.ReadFile(t.Context(), name); err != nil || string(got) != "content" {
			t.Errorf("%s: read %q, %v", name, got, err)
		}
		if info, err := c.Stat(t.Context(), name); err != nil || info.Size != 7 || info.Name != filepath.Base(name) {
			t.Errorf("%s: stat %+v, %v", name, info, err)
		}
	}
	if list, err := c.ReadDir(t.Context(), "files/todir"); err != nil || len(list) != 2 {
		t.Errorf("through a link: %v, %v", list, err)
	}
	for _, name := range []string{"files/loop", "files/outside"} {
		if got, err := c.ReadFile(t.Context(), name); err == nil {
			t.Errorf("%s: read %q", name, got)
		}
	}
	if err := c.Remove(t.Context(), "files/tofile"); err != nil {
		t.Error(err)
	}
	if _, err := c.Stat(t.Context(), "files/tofile"); !errors.Is(err, fs.NotExist) {
		t.Errorf("after the removal: %v", err)
	}
	if _, err := os.Stat(filepath.Join(host, "dir", "file")); err != nil {
		t.Errorf("the link's target went with it: %v", err)
	}
}
