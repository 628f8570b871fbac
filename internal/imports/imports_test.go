package imports

import (
	"slices"
	"strings"
	"testing"
)

// rules say what a part may import of ours, besides what lies below itself. A
// name with /... stands for what lies below it, too. What is not listed is a
// part that nobody has thought about, and may import nothing.
var rules = map[string][]string{
	"fs":       {},
	"fs/...":   {"fs"},
	"wire":     {},
	"vault":    {"wire"},
	"harness":  {"wire"},
	"adapters": {"fs", "fs/serve", "wire"},
	"podman":   {"fs", "wire"},
	"runtime":  {"fs", "wire", "harness/...", "vault/..."},
	"man":      {"fs", "wire"},
	"internal": {},
	"cmd":      {"..."},
}

// harness/... and the like: a part's own packages import each other freely,
// except in fs, whose fronts do not know each other.
func part(path string) string {
	top, below, _ := strings.Cut(path, "/")
	if top == "fs" && below != "" {
		return "fs/..."
	}
	return top
}

// allowed reports whether the package at path may import ours at target.
func allowed(path, target string) bool {
	of := part(path)
	if of != "fs" && of != "fs/..." && part(target) == of {
		return true
	}
	return slices.ContainsFunc(rules[of], func(rule string) bool {
		prefix, wild := strings.CutSuffix(rule, "...")
		return target == rule || wild && (strings.HasPrefix(target, prefix) || target == strings.TrimSuffix(prefix, "/"))
	})
}

func TestImports_followTheRule(t *testing.T) {
	for path, p := range packages(t) {
		for _, imp := range p.Imports {
			target, ours := strings.CutPrefix(imp, module)
			if ours && !allowed(path, target) {
				t.Errorf("%s imports %s; it may import %v of ours", path, target, rules[part(path)])
			}
		}
	}
}

func TestImports_ruleRefusesWhatItShould(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"fs", "wire", false},
		{"fs/ninep", "fs", true},
		{"fs/ninep", "fs/fuse", false},
		{"wire", "fs", false},
		{"harness", "harness/demo", true},
		{"harness/demo", "fs", false},
		{"harness", "runtime", false},
		{"adapters/slack", "adapters/desk", true},
		{"adapters/slack", "fs/ninep", false},
		{"adapters/slack", "runtime", false},
		{"podman/host", "harness", false},
		{"runtime", "harness/models", true},
		{"runtime/tree", "runtime", true},
		{"runtime", "podman/host", false},
		{"runtime", "harnessed", false},
		{"cmd/mikan", "podman/host", true},
		{"stray", "wire", false},
	} {
		if allowed(c.path, c.target) != c.want {
			t.Errorf("%s importing %s: want %v", c.path, c.target, c.want)
		}
	}
}

func TestImports_everyPartHasARule(t *testing.T) {
	for path := range packages(t) {
		if _, ok := rules[part(path)]; !ok {
			t.Errorf("%s: no rule says what it may import", path)
		}
	}
}

func TestImports_noPackageIsALumberRoom(t *testing.T) {
	for path, p := range packages(t) {
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc"}, p.Name) {
			t.Errorf("%s: name the package for what it serves", path)
		}
	}
}
