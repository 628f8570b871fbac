package imports

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository.
const root = "../.."

// module is the prefix of our own import paths.
const module = "mikan/"

// packages reads the packages of the module, by path without the module's name.
func packages(t *testing.T) map[string]*build.Package {
	t.Helper()
	list := map[string]*build.Package{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		name := d.Name()
		if path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || otherModule(path)) {
			return filepath.SkipDir
		}
		p, err := build.ImportDir(path, 0)
		if _, none := err.(*build.NoGoError); none {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		list[filepath.ToSlash(rel)] = p
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 10 {
		t.Fatalf("only %d packages were found", len(list))
	}
	return list
}

func otherModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
