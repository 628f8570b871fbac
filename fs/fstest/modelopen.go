package fstest

import (
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"mikan/fs"
)

// rename gives a file of the host directory another name.
func (m *model) rename(t *rapid.T) {
	from, base := name(t, workNames[1:]), name(t, []string{"a", "b", "d", "e"})
	to := path.Join(path.Dir(from), base)
	file, dir, want := m.find(from)
	_, todir, missing := m.find(to)
	switch {
	case !m.named(from, to), todir && from != to:
		return // a rename over a directory has an error for each system
	case want != nil || from == to:
	case missing == nil && !todir && dir:
		want = fs.NotDir
	default:
		m.work[to] = file
		delete(m.work, from)
		m.moveBelow(from, to)
	}
	m.want("rename "+from+" to "+base, m.d.Rename(m.ctx, from, base), want)
}

// moveBelow renames what lies in a directory.
func (m *model) moveBelow(from, to string) {
	for name, file := range maps.Clone(m.work) {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			m.work[to+"/"+rest] = file
			delete(m.work, name)
		}
	}
}

// named reports whether all that lies below from has a name that a sequence uses
// when it lies below to.
func (m *model) named(from, to string) bool {
	for name := range m.work {
		if rest, ok := strings.CutPrefix(name, from); ok && !slices.Contains(workNames, to+rest) {
			return false
		}
	}
	return true
}

// renameScratch does what editors do in the root.
func (m *model) renameScratch(t *rapid.T) {
	from := name(t, []string{"s1", "s2", "s3", "s1", "s2", "s3", "value", "ctl", "nothing"})
	to := name(t, []string{"s1", "s2", "s3", "value", "value", "ctl", "fixed"})
	content, _, want := m.find(from)
	_, _, missing := m.find(to)
	scratch := m.pad[from] != nil
	switch {
	case want != nil || from == to:
	case scratch && (missing != nil || m.pad[to] != nil):
		m.pad[to] = content
		delete(m.pad, from)
	case scratch && to == "value":
		if want = m.set(content.string); want == nil {
			delete(m.pad, from)
		}
	case scratch && to == "fixed":
		want = fs.Permission
	case from == "value" && (missing != nil || m.pad[to] != nil):
		m.pad[to] = &text{content.string}
	default:
		want = fs.Fixed
	}
	m.want("rename "+from+" to "+to, m.d.Rename(m.ctx, from, to), want)
}

func (m *model) appendLog(t *rapid.T) {
	line := rapid.SampledFrom([]string{"a line", strings.Repeat("y", 300)}).Draw(t, "line")
	m.log.string += line + "\n"
	m.want("append to the log", drive(m.ctx, m.d, "log "+line), nil)
}

// open opens a file for reading, to be read while other things happen.
func (m *model) open(t *rapid.T) {
	name := name(t, allNames)
	content, dir, want := m.find(name)
	if len(m.readers) >= 4 || dir {
		return
	}
	if want == nil && name == "secret" {
		want = fs.Permission
	}
	f, err := m.d.Open(m.ctx, name, fs.Read)
	m.want("open "+name, err, want)
	if want == nil {
		m.readers = append(m.readers, &reader{name: name, file: f, text: content})
	}
}

func (m *model) reader(t *rapid.T) int {
	if len(m.readers) == 0 {
		t.Skip("nothing is open")
	}
	return rapid.IntRange(0, len(m.readers)-1).Draw(t, "file")
}

// readOn reads the next bytes of an open file: of a value those of the open, of
// everything else those of now.
func (m *model) readOn(t *rapid.T) {
	r := m.readers[m.reader(t)]
	p := make([]byte, rapid.SampledFrom([]int{1, 3, 100, 4096, 100_000}).Draw(t, "length"))
	want := ""
	if r.off < len(r.text.string) {
		want = r.text.string[r.off:]
	}
	n, err := io.ReadFull(r.file, p[:min(len(p), len(want)+1)])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	m.want("read on in "+r.name, err, nil)
	if got := string(p[:n]); got != want[:min(len(p), len(want))] {
		m.t.Fatalf("%s at %d reads as %.80q; want %.80q", r.name, r.off, got, want)
	}
	r.off += n
}

func (m *model) close(t *rapid.T) {
	i := m.reader(t)
	m.want("close "+m.readers[i].name, m.readers[i].file.Close(), nil)
	m.readers = slices.Delete(m.readers, i, i+1)
}
