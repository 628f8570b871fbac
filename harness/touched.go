package harness

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mikan/wire"
)

// touched are the files that tool calls have read and modified.
type touched struct{ read, modified map[string]bool }

// touchedBy finds the files that calls of msgs have read and modified, and those
// that an earlier summary among them names. A call that failed has done nothing.
func touchedBy(msgs []wire.Message) touched {
	t := touched{map[string]bool{}, map[string]bool{}}
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

func (t touched) add(to map[string]bool, names ...string) {
	for _, n := range names {
		if oneLine(n) {
			to[n] = true
		}
	}
}

// details are the names in order. What was modified is not named as read too.
func (t touched) details() wire.Details {
	d := wire.Details{Read: []string{}, Modified: slices.AppendSeq([]string{}, maps.Keys(t.modified))}
	for name := range t.read {
		if !t.modified[name] {
			d.Read = append(d.Read, name)
		}
	}
	slices.Sort(d.Read)
	slices.Sort(d.Modified)
	return d
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
