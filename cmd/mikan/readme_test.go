package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mikan/harness/models"
	"mikan/wire"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recipe is a block of commands and the block of what they print.
var recipe = regexp.MustCompile("(?ms)^```sh\n(.*?)^```\n\n```output\n(.*?)^```\n")

func TestReadme_recipesWork(t *testing.T) {
	t.Parallel()
	text := readme(t)
	var list []example
	for _, m := range recipe.FindAllStringSubmatch(text, -1) {
		list = append(list, example{script: m[1], want: m[2]})
	}
	if n := strings.Count(text, "```sh\n"); n == 0 || n != len(list) {
		t.Fatalf("%d blocks of commands, %d with their output", n, len(list))
	}
	makeRun(t).try(t, "", list)
}

func TestReadme_makeRunAnswersAndSaysWhatToTry(t *testing.T) {
	t.Parallel()
	s := makeRun(t)
	for _, want := range []string{"> hello, $ date", "cd .run/mnt/offices/local/demo"} {
		if !strings.Contains(s.start, want) {
			t.Errorf("make run does not say %q:\n%s", want, s.start)
		}
	}
}

// branch is a file in the picture of the tree: its depth, name and mark.
var branch = regexp.MustCompile(`(?m)^((?:│   |    )*)[├└]── (\S+)( \*)?`)

func TestReadme_pictureShowsTheTreeAsItIs(t *testing.T) {
	text := readme(t)
	picture := text[strings.Index(text, "## The tree"):strings.Index(text, "## Five recipes")]
	levels := []wire.Place{wire.PlaceRoot, wire.PlaceOffice, wire.PlaceSession}
	shown := map[wire.Place]map[string]bool{}
	for _, p := range levels {
		shown[p] = map[string]bool{}
	}
	for _, m := range branch.FindAllStringSubmatch(picture, -1) {
		p := levels[len([]rune(m[1]))/4]
		name, _, _ := strings.Cut(m[2], "/")
		shown[p][name] = m[3] != ""
	}
	for _, p := range levels {
		files := wire.FilesAt(p)
		for _, f := range files {
			marked, ok := shown[p][f.Name]
			if !ok || marked != f.Hidden {
				t.Errorf("/%s/%s: in the picture %v, marked as blocking %v, want %v", p, f.Name, ok, marked, f.Hidden)
			}
		}
		if len(files) != len(shown[p]) {
			t.Errorf("/%s: the picture has %d files, the tree %d", p, len(shown[p]), len(files))
		}
	}
}

// chosen is a model that the README tells to choose: with jq, or with ctl.
var chosen = regexp.MustCompile(`provider: "([^"]+)", model: "([^"]+)"|'model ([^/]+)/([^:']+)`)

func TestReadme_modelsAreThere(t *testing.T) {
	m, err := models.Load(models.Options{StateDir: t.TempDir(), Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	found := chosen.FindAllStringSubmatch(readme(t), -1)
	if len(found) == 0 {
		t.Fatal("the README chooses no model")
	}
	for _, f := range found {
		if _, _, err := m.Find(f[1] + f[3] + "/" + f[2] + f[4]); err != nil {
			t.Error(err)
		}
	}
}
