package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const searchName = "tool_search"

const searchSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"query":{"type":"string","description":"What the tool should do, in a few words, or its name"},` +
	`"namespace":{"type":"string","description":"Look only among the tools of this namespace"},` +
	`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many tools to load at most; 5 if not given"}},` +
	`"required":["label","query"],"additionalProperties":false}`

const (
	searchFew  = 5
	searchMost = 20

	searchWords = 32       // of a query that count
	searchRoom  = 64 << 10 // bytes of the tools that one search loads
)

// search is the tool that takes tools from the shelf; none if there is no shelf.
func (s *shelf) search() []Tool {
	if s == nil {
		return nil
	}
	return []Tool{{
		ToolSpec: ToolSpec{
			Name: searchName,
			Description: "Find and load further tools by what they do. Those found can be called from your next message on. " +
				"There are tools of these namespaces:" + s.namespaces(),
			Schema: json.RawMessage(searchSchema),
		},
		Run: func(_ context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			return s.find(args)
		},
	}}
}

// namespaces is a list of where the tools come from.
func (s *shelf) namespaces() string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, t := range s.tools {
		if n := t.Namespace; !seen[n.Name] {
			seen[n.Name] = true
			b.WriteString("\n- " + n.Name)
			if n.Description != "" {
				b.WriteString(": " + n.Description)
			}
		}
	}
	return b.String()
}

func (s *shelf) find(args json.RawMessage) (Result, error) {
	var a struct {
		Query     string `json:"query"`
		Namespace string `json:"namespace"`
		Limit     number `json:"limit"`
	}
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	if err := present("query", strings.TrimSpace(a.Query)); err != nil {
		return Result{}, err
	}
	among := s.tools
	if a.Namespace != "" {
		among = slices.DeleteFunc(slices.Clone(among), func(t Tool) bool { return !strings.EqualFold(t.Namespace.Name, a.Namespace) })
		if len(among) == 0 {
			return Result{}, fmt.Errorf("there is no namespace %.64q; there are:%s", a.Namespace, s.namespaces())
		}
	}
	found := ranked(among, a.Query)
	found = found[:min(len(found), a.Limit.or(searchFew), searchMost)]
	if len(found) == 0 {
		return textResult("No tool matches. Try other words, or the name of a namespace:" + s.namespaces()), nil
	}
	var names loaded
	text := "Loaded; call them by these names from your next message on:"
	room := searchRoom
	for _, t := range found {
		room -= len(t.Description) + len(t.Schema)
		if room < 0 && len(names.Loaded) > 0 {
			text += "\nThere is no room for more; search for one at a time."
			break
		}
		names.Loaded = append(names.Loaded, t.Name)
		first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
		text += fmt.Sprintf("\n- %s: %.300s", t.Name, first)
	}
	r := textResult(text)
	var err error
	r.Details, err = json.Marshal(names)
	return r, err
}

// ranked are the tools that have a word of the query, the best first.
func ranked(tools []Tool, query string) []Tool {
	words := wordsOf(query)
	words = words[:min(len(words), searchWords)]
	type hit struct {
		Tool
		score int
	}
	var hits []hit
	for _, t := range tools {
		n := score(t, words)
		if strings.EqualFold(t.Name, strings.TrimSpace(query)) {
			n += 8 * searchWords // before all others
		}
		if n > 0 {
			hits = append(hits, hit{t, n})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	list := make([]Tool, len(hits))
	for i, h := range hits {
		list[i] = h.Tool
	}
	return list
}

// score counts how well the words fit a tool: each by the best place where it
// stands, a whole word of the name before a part of it, and the name before the
// namespace and the description.
func score(t Tool, words []string) (n int) {
	about := t.Namespace.Name + " " + t.Description
	nameWords, aboutWords := wordsOf(t.Name), wordsOf(about)
	name := strings.ToLower(t.Name)
	about = strings.ToLower(about)
	for _, w := range words {
		part := len(w) >= 3 // bytes: a letter of Chinese says something, two of ours do not
		switch {
		case slices.Contains(nameWords, w):
			n += 8
		case part && strings.Contains(name, w):
			n += 5
		case slices.Contains(aboutWords, w):
			n += 3
		case part && strings.Contains(about, w):
			n++
		}
	}
	return n
}

// wordsOf are the words of s in lower case; a capital within a word begins
// another.
func wordsOf(s string) []string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
