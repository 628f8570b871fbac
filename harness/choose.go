package harness

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// chosen returns the skills that patterns leave. Each pattern in turn takes out
// what it matches (! or -) or takes it in again (+); so the last one that
// matches a skill decides, and a skill that none matches stays. Behind ! stands a
// glob, behind + and - the very name.
func chosen(skills []Skill, patterns []string) []Skill {
	return slices.DeleteFunc(skills, func(s Skill) bool {
		out := false
		for _, p := range patterns {
			if s.matches(p) {
				out = p[0] != '+'
			}
		}
		return out
	})
}

// matches reports whether a pattern means s: by its name, its file or its
// directory, from the skills directory on or as the agent sees them.
func (s Skill) matches(pattern string) bool {
	file := strings.TrimPrefix(s.Path, s.Dir+"/")
	for _, name := range []string{s.Name, file, strings.TrimSuffix(file, "/SKILL.md"), s.Path, path.Dir(s.Path)} {
		if name == s.Dir {
			continue // all of its files are in it
		}
		if name == pattern[1:] {
			return true
		}
		if ok, err := path.Match(pattern[1:], name); pattern[0] == '!' && err == nil && ok {
			return true
		}
	}
	return false
}

// CheckSkillPattern returns an error for a text that is no pattern of skills.
func CheckSkillPattern(p string) error {
	if len(p) < 2 || !strings.Contains("!+-", p[:1]) {
		return fmt.Errorf("%q: want a pattern that begins with !, + or -", p)
	}
	if _, err := path.Match(p[1:], ""); err != nil && p[0] == '!' {
		return fmt.Errorf("%q: want a pattern with *, ? and [a-z] (%w)", p, err)
	}
	return nil
}

// SkillPatterns orders the patterns of one list by their weight: ! excludes, +
// includes again, - has the last word.
func SkillPatterns(list []string) []string {
	return slices.SortedStableFunc(slices.Values(list), func(a, b string) int {
		return strings.IndexByte("!+-", a[0]) - strings.IndexByte("!+-", b[0])
	})
}
