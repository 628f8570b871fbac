package harness

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mikan/wire"
)

// touched are the files that tool calls have read and modified, each with its
// place in the order of the calls.
type touched struct{ read, modified map[string]int }

// touchedBy finds the files that calls of msgs have read and modified, and those
// that an earlier summary among them names. A call that failed has done nothing.
func touchedBy(msgs []wire.Message) touched {
	t := touched{map[string]int{}, map[string]int{}}
	failed := map[string]bool{}
	for _, m := range msgs {
		if m.Role == wire.ToolResult && m.IsError {
			failed[m.ToolCallID] = true
		}
	}
	for _, m := range msgs {
		if s, ok := wire.SummaryOf(m); ok {
			t.add(t.read, listIn(s, readFiles)...)
			t.add(t.modified, listIn(s, modifiedFiles)...)
		}
		for _, c := range m.Calls() {
			var args struct{ Path string }
			if failed[c.ID] || json.Unmarshal(c.Arguments, &args) != nil {
				continue
			}
			switch c.Name {
			case "read":
				t.add(t.read, args.Path)
			case "write", "edit":
				t.add(t.modified, args.Path)
			}
		}
	}
	return t
}

func (t touched) add(to map[string]int, names ...string) {
	for _, n := range names {
		if oneLine(n) {
			to[n] = len(t.read) + len(t.modified) // not less than that of any before
		}
	}
}

// details are the names in order, the newest of them in at most room bytes. What
// was modified is not named as read too, and goes first.
func (t touched) details(room int) (d wire.Details) {
	for name := range t.modified {
		delete(t.read, name)
	}
	d.Modified, room = newestNames(t.modified, room)
	d.Read, _ = newestNames(t.read, room)
	return d
}

// newestNames are the newest of names in at most room bytes, in order, and the
// room that is left.
func newestNames(names map[string]int, room int) (list []string, left int) {
	byAge := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		return cmp.Or(names[b]-names[a], strings.Compare(a, b))
	})
	list = []string{}
	for _, name := range byAge {
		if room -= len(name) + 1; room < 0 {
			return slices.Sorted(slices.Values(list)), 0
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list, room
}

// The names of the lists at the end of a summary.
const (
	readFiles     = "read-files"
	modifiedFiles = "modified-files"
)

// noLists makes text that a model wrote hold no list that could be taken for one
// of those at the end of a summary.
var noLists = strings.NewReplacer("<"+readFiles+">", readFiles+":", "<"+modifiedFiles+">", modifiedFiles+":")

// withFiles is a summary with its lists of files.
func withFiles(summary string, d wire.Details) string {
	summary = noLists.Replace(summary)
	for _, list := range []struct {
		name  string
		files []string
	}{{readFiles, d.Read}, {modifiedFiles, d.Modified}} {
		if len(list.files) > 0 {
			summary += "\n\n<" + list.name + ">\n" + strings.Join(list.files, "\n") + "\n</" + list.name + ">"
		}
	}
	return summary
}

// withoutFiles is a summary without its lists of files.
func withoutFiles(summary string) string {
	for _, name := range []string{modifiedFiles, readFiles} {
		if i := strings.LastIndex(summary, "\n\n<"+name+">\n"); i >= 0 && strings.HasSuffix(summary, "\n</"+name+">") {
			summary = summary[:i]
		}
	}
	return summary
}

// listIn is one of the lists at the end of a summary.
func listIn(summary, name string) []string {
	i := strings.LastIndex(summary, "\n<"+name+">\n")
	if i < 0 {
		return nil
	}
	list, _, ok := strings.Cut(summary[i+len("\n<"+name+">\n"):], "\n</"+name+">")
	if !ok {
		return nil
	}
	return strings.Split(list, "\n")
}

// oneLine reports whether s can stand in a list with one name a line.
func oneLine(s string) bool { return s != "" && !strings.ContainsAny(s, "\n\r\x00") }
