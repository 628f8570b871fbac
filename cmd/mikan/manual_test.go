package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mikan/man"
	"mikan/runtime"
	"mikan/wire"
)

var update = flag.Bool("update", false, "write the manual pages anew")

// pageFile is where a manual page is checked in.
func pageFile(page string) string { return filepath.Join("..", "..", "man", page) }

func program(t *testing.T) man.Program {
	t.Helper()
	k, err := newParser(&streams{out: new(bytes.Buffer), err: new(bytes.Buffer)})
	if err != nil {
		t.Fatal(err)
	}
	p := man.Program{CLI: k.Model}
	for _, v := range variables {
		p.Env = append(p.Env, man.Variable{Name: v.name, Help: v.help})
	}
	return p
}

func TestManual_isUpToDate(t *testing.T) {
	for _, page := range man.Pages {
		want, err := man.Page(page, program(t))
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(pageFile(page), want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(pageFile(page)); err != nil || !bytes.Equal(have, want) {
			t.Errorf("man/%s is not what its template and the tables make (%v); run: go generate ./man", page, err)
		}
	}
}

func TestManual_isCleanMdoc(t *testing.T) {
	mandoc, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is not installed")
	}
	for _, page := range man.Pages {
		out, err := exec.CommandContext(context.Background(), mandoc, "-Tlint", "-Wwarning", pageFile(page)).CombinedOutput()
		if err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", page, err, out)
		}
	}
}

// display is an example of a manual page that is to be run.
var display = regexp.MustCompile(`(?ms)^\.\\" run\n\.Bd -literal[^\n]*\n(.*?)^\.Ed\n`)

// listing is a program in a manual page that the examples there run.
var listing = regexp.MustCompile(`(?ms)^\.\\" file (\S+)\n\.Bd -literal[^\n]*\n(.*?)^\.Ed\n`)

// plain is what a reader of a display sees.
func plain(display []byte) string {
	return strings.NewReplacer(`\e`, `\`, `\&`, ``).Replace(string(display))
}

// session splits what a terminal shows into examples.
func session(text string) []example {
	var list []example
	for line := range strings.Lines(text) {
		if typed, ok := strings.CutPrefix(line, "$ "); ok {
			list = append(list, example{script: strings.TrimSpace(typed)})
		} else if n := len(list); n > 0 {
			list[n-1].want += line
		}
	}
	return list
}

func TestManual_examplesWork(t *testing.T) {
	for _, page := range man.Pages {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(pageFile(page))
			if err != nil {
				t.Fatal(err)
			}
			var list []example
			for _, d := range display.FindAllSubmatch(text, -1) {
				list = append(list, session(strings.ReplaceAll(plain(d[1]), "...", "…"))...)
			}
			if len(list) == 0 {
				t.Fatal("the page has no examples")
			}
			begin := "cd .run/mnt/offices/local/demo"
			if page == "mikan.1" || page == "mikan.5" {
				begin = ""
			}
			s := makeRun(t)
			for _, d := range listing.FindAllSubmatch(text, -1) {
				if err := os.WriteFile(filepath.Join(s.dir, string(d[1])), []byte(plain(d[2])), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			s.try(t, begin, list)
		})
	}
}

// names reports which of the words a page does not have as an item or in a list
// of literal words.
func names(t *testing.T, page string, words []string) {
	t.Helper()
	text, err := os.ReadFile(pageFile(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range words {
		if !regexp.MustCompile(`(?m)^\.(It )?Cm .*\b` + regexp.QuoteMeta(w) + `\b`).Match(text) {
			t.Errorf("man/%s says nothing about %q", page, w)
		}
	}
}

// keys are the names of the fields that a struct has in JSON, with those of the
// structs in it if deep.
func keys(t reflect.Type, prefix string, deep bool) []string {
	var list []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if deep && f.Type.Kind() == reflect.Struct {
			list = append(list, keys(f.Type, prefix+name+".", deep)...)
			continue
		}
		list = append(list, prefix+name)
	}
	return list
}

func TestManual_namesEveryField(t *testing.T) {
	names(t, "mikan-ctl.7", keys(reflect.TypeFor[wire.Event](), "", false))
	names(t, "mikan-ctl.7", keys(reflect.TypeFor[wire.Record](), "", false))
	names(t, "mikan-ctl.7", keys(reflect.TypeFor[wire.Attachment](), "", false))
	names(t, "mikan.5", slices.Concat(
		keys(reflect.TypeFor[wire.InMessage](), "", false), keys(reflect.TypeFor[wire.InAttachment](), "", false),
		keys(reflect.TypeFor[wire.OpRequest](), "", false), keys(reflect.TypeFor[wire.OpAnswer](), "", false),
		keys(reflect.TypeFor[wire.OpMessage](), "", false), keys(reflect.TypeFor[wire.OpUser](), "", false),
		keys(reflect.TypeFor[wire.Caps](), "", false),
		keys(reflect.TypeFor[wire.ToolSchema](), "", false), keys(reflect.TypeFor[wire.ToolRequest](), "", false),
		keys(reflect.TypeFor[wire.ToolAnswer](), "", false), keys(reflect.TypeFor[wire.Origin](), "", false),
	))
	names(t, "mikan.4", keys(reflect.TypeFor[runtime.Settings](), "", true))
}

func TestManual_namesEveryKeyOfAState(t *testing.T) {
	t.Parallel()
	s := makeRun(t)
	root := filepath.Join(s.dir, ".run", "mnt")
	if err := os.Mkdir(filepath.Join(root, "platforms", "irc"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "platforms/irc/status", "offices/local/demo/status", "offices/local/demo/usage", "offices/local/demo/sessions/main/status"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for line := range strings.Lines(string(text)) {
			words = append(words, strings.Fields(line)[0])
		}
		names(t, "mikan-ctl.7", words)
	}
}

func TestManual_modesAndListingAreThoseOfTheTree(t *testing.T) {
	t.Parallel()
	s := makeRun(t)
	for _, name := range []string{"platforms/main", "platforms/main/tools/weather", "offices/local/demo/tools/weather"} {
		if err := os.Mkdir(filepath.Join(s.dir, ".run", "mnt", name), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	ask := `% start_task {"label":"t","acknowledgement":"Yes.","task":"hello"}`
	office := filepath.Join(s.dir, ".run", "mnt", "offices/local/demo")
	if err := os.WriteFile(filepath.Join(office, "sessions/main/prompt"), []byte(ask), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(filepath.Join(office, "wait")); err != nil {
		t.Fatal(err)
	}
	place := strings.NewReplacer("<platform>", "local", "<conversation>", "demo", "<name>", "main", "<tool>", "weather", "<id>", "1")
	for _, f := range wire.TreeFiles {
		dir := filepath.Join(s.dir, ".run", "mnt", place.Replace(string(f.Place)))
		name := place.Replace(f.Name)
		if f.Name == "<platform>" {
			name = "local"
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if have := uint32(info.Mode().Perm()); have != f.Mode || info.IsDir() != (f.Kind == "dir") {
			t.Errorf("%s/%s is %v, the table says %04o, %s", f.Place, f.Name, info.Mode(), f.Mode, f.Kind)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		listed := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
		if listed == f.Hidden {
			t.Errorf("%s/%s: listed is %v, and so is hidden", f.Place, f.Name, listed)
		}
	}
}
