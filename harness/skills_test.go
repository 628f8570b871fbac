package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func skillText(name, description string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nDo it.\n", name, description)
}

func TestSkillsOfTheOfficeWin(t *testing.T) {
	shared, office := newShell(t), newShell(t)
	shared.put(t, "skills/invoice/SKILL.md", skillText("invoice", "shared invoice"))
	shared.put(t, "skills/deploy.md", "---\ndescription: \"deploy: with care\"\n---\n")
	shared.put(t, "skills/README.txt", "no skill")
	shared.put(t, "skills/data/table.csv", "no skill")
	office.put(t, "skills/bill/SKILL.md", skillText("invoice", "office invoice"))
	office.put(t, "skills/zap.md", "---\ndescription: z\ndisable-model-invocation: true\n---\n")
	got, notes := Skills(nil, SkillDir{shared.dir, "/shared"}, SkillDir{office.dir, "/office"})
	want := []Skill{
		{Name: "deploy", Description: "deploy: with care", Dir: "/shared/skills", Path: "/shared/skills/deploy.md"},
		{Name: "invoice", Description: "office invoice", Dir: "/office/skills", Path: "/office/skills/bill/SKILL.md"},
		{Name: "zap", Description: "z", Dir: "/office/skills", Path: "/office/skills/zap.md", Manual: true},
	}
	said := []string{"skills in /office: skills/bill/SKILL.md: the skill is called invoice; its directory should be, too"}
	if d := cmp.Diff(want, got) + cmp.Diff(said, notes); d != "" {
		t.Error(d)
	}
}

func TestPatternsChooseAmongSkills(t *testing.T) {
	shared, office := newShell(t), newShell(t)
	for _, s := range []*shell{shared, office} {
		s.put(t, "skills/pdf/SKILL.md", skillText("pdf", "x"))
	}
	shared.put(t, "skills/pdf-forms.md", skillText("pdf-forms", "x"))
	shared.put(t, "skills/deploy.md", skillText("deploy", "x"))
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{nil, "/shared/skills/deploy.md /shared/skills/pdf-forms.md /office/skills/pdf/SKILL.md"},
		{[]string{"!*"}, ""},
		{[]string{"!pdf*"}, "/shared/skills/deploy.md"},
		{[]string{"!pdf"}, "/shared/skills/deploy.md /shared/skills/pdf-forms.md"},
		{[]string{"!*.md"}, "/office/skills/pdf/SKILL.md"},
		{[]string{"!*/SKILL.md"}, "/shared/skills/deploy.md /shared/skills/pdf-forms.md"},
		{[]string{"!/shared/skills/*"}, "/office/skills/pdf/SKILL.md"},
		{[]string{"!/office/*/*"}, "/shared/skills/deploy.md /shared/skills/pdf/SKILL.md /shared/skills/pdf-forms.md"},
		{[]string{"-/office/skills/pdf/SKILL.md"}, "/shared/skills/deploy.md /shared/skills/pdf/SKILL.md /shared/skills/pdf-forms.md"},
		{[]string{"-pdf*"}, "/shared/skills/deploy.md /shared/skills/pdf-forms.md /office/skills/pdf/SKILL.md"},
		{[]string{"!*", "+deploy"}, "/shared/skills/deploy.md"},
		{[]string{"!*", "+deploy.md", "-deploy"}, ""},
		{[]string{"-deploy", "+deploy"}, "/shared/skills/deploy.md /shared/skills/pdf-forms.md /office/skills/pdf/SKILL.md"}, // of two lists
		{SkillPatterns([]string{"-deploy", "+deploy", "!*"}), ""},
		{SkillPatterns([]string{"+deploy", "!*"}), "/shared/skills/deploy.md"},
		{[]string{"+nosuch"}, "/shared/skills/deploy.md /shared/skills/pdf-forms.md /office/skills/pdf/SKILL.md"},
	} {
		skills, _ := Skills(c.patterns, SkillDir{shared.dir, "/shared"}, SkillDir{office.dir, "/office"})
		var paths []string
		for _, s := range skills {
			paths = append(paths, s.Path)
		}
		if got := strings.Join(paths, " "); got != c.want {
			t.Errorf("%q leave %s, want %s", c.patterns, got, c.want)
		}
	}
	for p, ok := range map[string]bool{"": false, "!": false, "pdf": false, "![": false, "-[": true, "!a": true, "+a": true} {
		if err := CheckSkillPattern(p); (err == nil) != ok {
			t.Errorf("%q: %v", p, err)
		}
	}
}

func TestSkillsThatAreNoGoodAreNamed(t *testing.T) {
	s := newShell(t)
	s.put(t, "skills/plain.md", "# no frontmatter\n")
	s.put(t, "skills/open.md", "---\ndescription: x\n")
	s.put(t, "skills/mute.md", "---\nname: mute\n---\n")
	s.put(t, "skills/Shout.md", "---\ndescription: x\n---\n")
	s.put(t, "skills/long.md", "---\ndescription: "+strings.Repeat("é", 1025)+"\n---\n")
	s.put(t, "skills/a.md", skillText("twin", "x"))
	s.put(t, "skills/b.md", skillText("twin", "y"))
	s.put(t, "skills/two\nlines.md", skillText("lines", "x"))
	got, notes := Skills(nil, SkillDir{s.dir, "/o"})
	if len(got) != 1 || got[0].Name != "twin" || got[0].Description != "x" {
		t.Errorf("%+v", got)
	}
	want := []string{
		`skills in /o: skills/Shout.md: the name "Shout" is not 1 to 64 of a-z, 0-9 and -`,
		`skills in /o: skills/b.md: the name twin is taken`,
		`skills in /o: skills/long.md: the description is longer than 1024 characters`,
		`skills in /o: skills/mute.md: the frontmatter has no description`,
		`skills in /o: skills/open.md: the frontmatter does not end (---)`,
		`skills in /o: skills/plain.md: the file does not begin with a frontmatter (---)`,
		"skills in /o: skills/two\nlines.md: the file's name has control characters",
	}
	if d := cmp.Diff(want, notes); d != "" {
		t.Error(d)
	}
}

func TestNoSkillsAreNoNews(t *testing.T) {
	s := newShell(t)
	for _, dir := range []string{s.dir, filepath.Join(s.dir, "absent")} {
		if got, notes := Skills(nil, SkillDir{dir, "/o"}); len(got)+len(notes) != 0 {
			t.Errorf("%+v %v", got, notes)
		}
	}
	fatal(t, os.Mkdir(filepath.Join(s.dir, "skills"), 0o755))
	if got, notes := Skills(nil, SkillDir{s.dir, "/o"}); len(got)+len(notes) != 0 {
		t.Errorf("%+v %v", got, notes)
	}
}

func TestTooManySkillsAreCut(t *testing.T) {
	s := newShell(t)
	for i := range maxSkills + 5 {
		s.put(t, fmt.Sprintf("skills/s%03d.md", i), "---\ndescription: x\n---\n")
	}
	got, notes := Skills(nil, SkillDir{s.dir, "/o"})
	if len(got) != maxSkills || len(notes) != 1 || !strings.Contains(notes[0], "more than 128 entries") {
		t.Errorf("%d skills, %v", len(got), notes)
	}
}

// hostile are the ways to put at path p what must not be read: links that lead
// out of root, to another place in it, or nowhere, and a pipe that would be
// waited for.
var hostile = map[string]func(t *testing.T, root, p string) error{
	"link out": func(t *testing.T, _, p string) error { return os.Symlink(bait(t, t.TempDir(), p), p) },
	"link in": func(t *testing.T, root, p string) error {
		to, err := filepath.Rel(filepath.Dir(p), bait(t, root, p))
		fatal(t, err)
		return os.Symlink(to, p)
	},
	"dangling link": func(_ *testing.T, _, p string) error { return os.Symlink("/nowhere", p) },
	"pipe":          func(_ *testing.T, _, p string) error { return syscall.Mkfifo(p, 0o644) },
}

// bait makes in dir what would be read if p were a link to it, a file or a
// directory.
func bait(t *testing.T, dir, p string) string {
	t.Helper()
	s := shell{dir}
	if filepath.Ext(p) == ".md" {
		s.put(t, "bait", skillText("leak", "canary"))
		return filepath.Join(dir, "bait")
	}
	s.put(t, "baits/SKILL.md", skillText("leak", "canary"))
	return filepath.Join(dir, "baits")
}

func TestFault_S2_skills_and_memory_follow_no_link_and_wait_for_nothing(t *testing.T) {
	for _, file := range []string{"skills/x.md", "skills/x/SKILL.md", "skills/x", "skills", "MEMORY.md"} {
		for name, make := range hostile {
			dir := t.TempDir()
			p := filepath.Join(dir, file)
			fatal(t, os.MkdirAll(filepath.Dir(p), 0o755))
			fatal(t, make(t, dir, p))
			skills, notes := Skills(nil, SkillDir{dir, "/o"})
			memory, note := Memory(dir)
			if len(skills) != 0 || memory != "" {
				t.Errorf("%s as %s: %+v %q", file, name, skills, memory)
			}
			if isLink := strings.Contains(name, "link"); isLink && len(notes) == 0 && note == "" {
				t.Errorf("%s as %s: nobody is told", file, name)
			}
		}
	}
}

func TestMemoryIsBounded(t *testing.T) {
	s := newShell(t)
	s.put(t, "MEMORY.md", strings.Repeat("fact\n", maxMemory/5+10))
	text, note := Memory(s.dir)
	if len(text) > maxMemory+200 || !strings.HasSuffix(text, "fact\n[The file is larger than 64.0 KB; the rest is left out here. Make it shorter.]") {
		t.Errorf("%d bytes, %q", len(text), text[len(text)-100:])
	}
	if !strings.Contains(note, "is larger than 64.0 KB") {
		t.Error(note)
	}
}

// An office that has many skills of many lines does not keep its runs waiting.
func TestFrontmatter_takes_no_more_than_a_file_s_length(t *testing.T) {
	data := []byte("---\ndescription: x\n" + strings.Repeat(" a\n", maxSkillFile/3-20) + "---\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fields, err := frontmatter(data)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err != nil || len(fields["description"]) < maxSkillFile/2 || used > 64*maxSkillFile {
		t.Errorf("%d bytes for a file of %d, %v", used, len(data), err)
	}
}

// A server refuses a request in which there is a NUL, and with it every session.
func TestPrompt_holds_no_NUL(t *testing.T) {
	s := newShell(t)
	s.put(t, "MEMORY.md", "a\x00b")
	s.put(t, "skills/x.md", "---\ndescription: \"a\\u0000b\"\n---\n")
	s.put(t, "skills/y.md", "---\ndescription: a\x00b\n---\n")
	memory, _ := Memory(s.dir)
	skills, notes := Skills(nil, SkillDir{s.dir, "/o"})
	prompt := SystemPrompt(PromptInput{Skills: skills, OfficeMemory: memory})
	if strings.Count(prompt, "ab") != 3 || strings.Contains(prompt, "\x00") {
		t.Errorf("%q %v", prompt, notes)
	}
}

func TestFrontmatter(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"---\nname: a\ndescription: b # why\n---\nname: c\n": {"name": "a", "description": "b"},
		"---\r\nname: 'it''s'\r\n---\r\n":                    {"name": "it's"},
		bom + "---\nname: \"q\\\"x\" # c\n---":               {"name": `q"x`},
		"---\nname: >-\n  one\n\n  two\n---\n":               {"name": "one two"},
		"---\nname: one\n  two\n# c\n- list\n---\n":          {"name": "one two"},
		"---\nname:\n---\n":                                  {"name": ""},
		"---\nname: \"open\n---\n":                           {"name": "open"},
		"---\n---\n":                                         {},
		"---\nname: a\nmetadata:\n  version: \"1\"\n  name: b\nallowed-tools:\n  - Read\ndescription: x\n---\n": {"name": "a", "metadata": `version: "1" name: b`, "allowed-tools": "- Read", "description": "x"},
		"---\ndescription: \"a: b # c\"\n---\n":                 {"description": "a: b # c"},
		"---\ndescription: Reads: PDF, DOCX #1\n---\n":          {"description": "Reads: PDF, DOCX"},
		"---\ndescription: C# and F#\n---\n":                    {"description": "C# and F#"},
		"---\ndescription: |\n  one\n  # two\n\n  three\n---\n": {"description": "one # two three"},
		"---\ndescription: >2+ # how\n  one\n---\n":             {"description": "one"},
		"---\ndescription: 'one\n  two''s'\n---\n":              {"description": "one two's"},
		"---\ndescription: \"one\n  t\\u00e4o\\\"\"\n---\n":     {"description": "one täo\""},
		"---\n'name': a\n\"description\": b\n---\n":             {"name": "a", "description": "b"},
	} {
		got, err := frontmatter([]byte(text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		delete(got, "")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func FuzzFrontmatter(f *testing.F) {
	f.Add([]byte("---\nname: 'a'\ndescription: >\n  b\n---\n"))
	f.Add([]byte("---\n: \n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, err := frontmatter(data)
		if err == nil && !strings.Contains(string(data), "---") {
			t.Errorf("%q has fields %v", data, fields)
		}
		for k, v := range fields {
			if strings.ContainsAny(v, "\n\r") {
				t.Errorf("%s is more than a line: %q", k, v)
			}
		}
	})
}
