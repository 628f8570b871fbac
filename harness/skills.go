package harness

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Skill is a set of instructions for a task, which the agent reads when it
// needs them.
type Skill struct {
	Name        string
	Description string
	Dir         string // the skills directory, as the agent sees it
	Path        string // the file to read, as the agent sees it
	Manual      bool   // only for when a person names it; the prompt does not offer it
}

// SkillDir is a place that may have a directory skills.
type SkillDir struct {
	Root string // on the host; the agent may write what is in it
	Path string // the same directory as the agent sees it
}

const (
	maxSkills      = 128      // entries of one skills directory
	maxSkillFile   = 64 << 10 // bytes that are searched for the frontmatter
	maxSkillName   = 64
	maxDescription = 1024 // characters
)

// Skills finds the skills of some places: skills/<name>/SKILL.md and
// skills/<name>.md. Patterns, which [CheckSkillPattern] has checked, choose among
// them; of two that are left with the same name the one of the later place
// counts. They are ordered by place, then by name. A file that is no good is left
// out, with a note for the operator.
func Skills(patterns []string, places ...SkillDir) (skills []Skill, notes []string) {
	for _, place := range places {
		found, n := place.skills()
		notes = append(notes, n...)
		found = chosen(found, patterns)
		skills = slices.DeleteFunc(skills, func(s Skill) bool {
			return slices.ContainsFunc(found, func(f Skill) bool { return f.Name == s.Name })
		})
		skills = append(skills, found...)
	}
	return skills, notes
}

// skills finds the skills of one place.
func (d SkillDir) skills() (skills []Skill, notes []string) {
	note := func(err error) {
		if s := missingIsFine(err); s != "" {
			notes = append(notes, "skills in "+d.Path+": "+s)
		}
	}
	root, err := os.OpenRoot(d.Root)
	if err != nil {
		note(err)
		return nil, notes
	}
	defer root.Close()
	names, err := listDir(root, "skills")
	if err != nil {
		note(err)
		return nil, notes
	}
	if len(names) > maxSkills {
		note(fmt.Errorf("more than %d entries; the rest is left out", maxSkills))
		names = names[:maxSkills]
	}
	for _, name := range names {
		s, err := readSkill(root, name)
		if err != nil {
			note(err)
			continue
		}
		if dir := path.Base(path.Dir(s.Path)); path.Base(s.Path) == "SKILL.md" && dir != s.Name {
			note(fmt.Errorf("%s: the skill is called %s; its directory should be, too", s.Path, s.Name))
		}
		if slices.ContainsFunc(skills, func(o Skill) bool { return o.Name == s.Name }) {
			note(fmt.Errorf("%s: the name %s is taken", s.Path, s.Name))
			continue
		}
		s.Dir, s.Path = path.Join(d.Path, "skills"), path.Join(d.Path, s.Path)
		skills = append(skills, s)
	}
	slices.SortFunc(skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return skills, notes
}

// listDir returns the names in a directory that is not a link, sorted, of those
// that could be skills, and at most one more than [maxSkills].
func listDir(root *os.Root, dir string) ([]string, error) {
	info, err := root.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s: not a directory (%s)", dir, kind(info.Mode()))
	}
	f, err := root.Open(dir + "/.")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(8 * maxSkills)
	if err != nil && len(entries) == 0 {
		return nil, nil // io.EOF: empty
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && (strings.HasSuffix(e.Name(), ".md") || e.Type().IsDir() || e.Type()&fs.ModeSymlink != 0) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names[:min(len(names), maxSkills+1)], nil
}

// readSkill reads the skill in the directory skills that has the file or
// directory name. Its path is relative to root.
func readSkill(root *os.Root, name string) (Skill, error) {
	s := Skill{Name: strings.TrimSuffix(name, ".md"), Path: path.Join("skills", name)}
	info, err := root.Lstat(s.Path)
	if err != nil {
		return Skill{}, err
	}
	if info.IsDir() {
		s.Name, s.Path = name, path.Join(s.Path, "SKILL.md")
	}
	data, _, err := readRegular(root, s.Path, maxSkillFile)
	if err != nil {
		return Skill{}, err
	}
	fields, err := frontmatter(data)
	if err != nil {
		return Skill{}, fmt.Errorf("%s: %w", s.Path, err)
	}
	if n := fields["name"]; n != "" {
		s.Name = n
	}
	s.Description = fields["description"]
	s.Manual = strings.EqualFold(fields["disable-model-invocation"], "true")
	if err := s.check(); err != nil {
		return Skill{}, fmt.Errorf("%s: %w", s.Path, err)
	}
	return s, nil
}

func (s Skill) check() error {
	bad := func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-') }
	switch {
	case s.Name == "" || len(s.Name) > maxSkillName || strings.ContainsFunc(s.Name, bad):
		return fmt.Errorf("the name %.80q is not 1 to %d of a-z, 0-9 and -", s.Name, maxSkillName)
	case strings.ContainsFunc(s.Path, unicode.IsControl):
		return fmt.Errorf("the file's name has control characters")
	case s.Description == "":
		return fmt.Errorf("the frontmatter has no description")
	case utf8.RuneCountInString(s.Description) > maxDescription:
		return fmt.Errorf("the description is longer than %d characters", maxDescription)
	}
	return nil
}
