package fuse_test

import (
	"os"
	"testing"

	"github.com/hanwen/go-fuse/v2/posixtest"

	"mikan/fs"
	"mikan/fs/fuse"
)

const posixVar = "MIKAN_FUSE_TEST_POSIX"

// notPosix are the tests of go-fuse's suite that a host directory in the tree
// is not meant to pass, and why.
var notPosix = map[string]string{
	"Fallocate":           "there is no preallocation",
	"FallocateKeepSize":   "there is no preallocation",
	"FcntlFlockLocksFile": "locks are the kernel's own, and those of one process do not conflict",
	"Link":                "hard links cannot be made",
	"LinkUnlinkRename":    "hard links cannot be made",
	"OpenSymlinkRace":     "symbolic links cannot be made",
	"RenameOpenDir":       "a directory does not replace a directory",
	"SetattrSymlink":      "symbolic links cannot be made",
	"SymlinkReadlink":     "symbolic links cannot be made",
	"Tmpfile":             "there are no files without a name",
	"XAttr":               "there are no extended attributes",
	"XAttrLarge":          "there are no extended attributes",
}

// TestPosix runs go-fuse's suite in a child, below a host directory.
func TestPosix(t *testing.T) {
	t.Parallel()
	m := mounted(t, newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"files": fs.NewHostDir(t.TempDir())}}), fuse.Options{})
	cmd := child(t.Context(), "", "-test.run=^TestPosixChild$", "-test.v")
	cmd.Env = append(cmd.Env, posixVar+"="+m+"/files")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

func TestPosixChild(t *testing.T) {
	dir := os.Getenv(posixVar)
	if dir == "" {
		t.Skip("a part of TestPosix")
	}
	for name, test := range posixtest.All {
		t.Run(name, func(t *testing.T) {
			if why := notPosix[name]; why != "" {
				t.Skip(why)
			}
			mine, err := os.MkdirTemp(dir, "")
			if err != nil {
				t.Fatal(err)
			}
			test(t, mine)
		})
	}
}
