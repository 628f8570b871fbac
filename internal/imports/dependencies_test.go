package imports

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requirement is a line of go.mod that requires a module.
var requirement = regexp.MustCompile(`(?m)^(?:require )?\t?([a-z0-9.-]+\.[a-z]+/\S+) (v\S+)( // indirect)?$`)

// toolLine is a line of go.mod that names a program.
var toolLine = regexp.MustCompile(`(?m)^(?:tool )?\t?([a-z0-9.-]+\.[a-z]+/\S+)$`)

// direct returns the modules that a go.mod requires for our own code, and those
// of its tools, with their versions.
func direct(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	tools := toolLine.FindAllStringSubmatch(string(text), -1)
	list := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(string(text), -1) {
		isTool := slices.ContainsFunc(tools, func(tool []string) bool { return strings.HasPrefix(tool[1], m[1]+"/") })
		if m[3] == "" || isTool {
			list[m[1]] = m[2]
		}
	}
	return list
}

// reason is a line of docs/dependencies.md on a module.
var reason = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.+)\\|$")

func TestDependencies_eachHasItsReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	have := direct(t, "go.mod")
	for module, version := range direct(t, filepath.Join("tools", "go.mod")) {
		have[module] = version
	}
	if have["github.com/knusbaum/go9p"] != "v1.18.0" {
		t.Errorf("go9p is required at %q; it is pinned at v1.18.0", have["github.com/knusbaum/go9p"])
	}
	told := map[string]bool{}
	for _, m := range reason.FindAllStringSubmatch(string(text), -1) {
		told[m[1]] = true
		if _, ok := have[m[1]]; !ok {
			t.Errorf("docs/dependencies.md has a line on %s, which is not a direct dependency", m[1])
		}
	}
	for module := range have {
		if !told[module] {
			t.Errorf("docs/dependencies.md says nothing about %s", module)
		}
	}
}
