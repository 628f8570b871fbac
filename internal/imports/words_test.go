package imports

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// foreign are phrases that name what does not belong to the repository. They
// are put together here so that this file does not hold them.
var foreign = []string{"../" + "shared", "/work/" + "shared", "/work/" + "wt"}

func TestRepository_standsAlone(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("not a repository of git: ", err)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || bytes.IndexByte(text, 0) >= 0 {
			continue // removed, a link, or not text
		}
		for _, phrase := range foreign {
			if bytes.Contains(text, []byte(phrase)) {
				t.Errorf("%s names %q, which is not in the repository", name, phrase)
			}
		}
	}
}
