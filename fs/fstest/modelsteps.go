package fstest

import (
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"mikan/fs"
)

// The steps of a random sequence, each in the tree and in the model.

// The sizes at which values and scratch end.
const (
	maxValue   = 64 << 10
	maxScratch = 1 << 20
)

func name(t *rapid.T, from []string) string { return rapid.SampledFrom(from).Draw(t, "name") }

// pieces are what write calls write; the lines of that many bytes are not shown.
func pieces(t *rapid.T) []string {
	list := rapid.SliceOfN(rapid.SampledFrom([]string{
		"", "one", "two\n", "bad", "bad\n", "fail\n", " \n", "three words here\n", "\n",
		"100", "5000", "8200", "70000", "300000",
	}), 0, 3).Draw(t, "pieces")
	all := make([]string, len(list))
	for i, p := range list {
		all[i] = p
		if n, err := strconv.Atoi(p); err == nil {
			all[i] = strings.Repeat("x", n-1) + "\n"
		}
	}
	return all
}

func (m *model) read(t *rapid.T) {
	name := name(t, allNames)
	content, dir, want := m.find(name)
	switch {
	case want == nil && dir:
		return // a directory is listed
	case want == nil && name == "secret":
		want = fs.Permission
	}
	got, err := readAll(m.ctx, m.d, name)
	m.want("read "+name, err, want)
	if want == nil && got != content.string {
		m.t.Fatalf("%s reads as %.80q; want %.80q", name, got, content.string)
	}
}

// write opens a file, writes pieces, and commits.
func (m *model) write(t *rapid.T) {
	name, how := name(t, allNames), fs.Write
	if rapid.Bool().Draw(t, "truncate") {
		how |= fs.Truncate
	}
	pieces := pieces(t)
	if name == "ctl" && len(strings.Join(pieces, "")) > 30_000 {
		return // a write that goes in several messages ends with the first that fails
	}
	content, dir, want := m.find(name)
	switch {
	case want != nil:
	case dir:
		want = fs.IsDir
	case name == "fixed" || name == "log":
		want = fs.Permission
	}
	f, err := m.d.Open(m.ctx, name, how)
	m.want("open "+name, err, want)
	if want != nil {
		return
	}
	for _, p := range pieces {
		err = errors.Join(err, send(f, p))
	}
	err = errors.Join(err, f.Sync(m.ctx), f.Close())
	m.want("write "+name, err, m.wrote(name, content, how, pieces))
}

// wrote does what a write does, and returns its error.
func (m *model) wrote(name string, content *text, how fs.Flags, pieces []string) error {
	old := content.string
	if how&fs.Truncate != 0 {
		old = ""
	}
	all := strings.Join(pieces, "")
	switch name {
	case "ctl":
		return m.commands(pieces)
	case "prompt", "secret":
		return m.body(name, all)
	case "value":
		if all == "" {
			return nil
		}
		return m.set(over(old, all))
	}
	content.string = old
	for off, p := 0, pieces; len(p) > 0; off, p = off+len(p[0]), p[1:] {
		if m.pad[name] != nil && off+len(p[0]) > maxScratch {
			return fs.TooBig
		}
		content.string = content.string[:off] + over(content.string[off:], p[0])
	}
	return nil
}

// over is old with new written over its beginning.
func over(old, new string) string {
	if len(new) >= len(old) {
		return new
	}
	return new + old[len(new):]
}

// commands runs what is written to ctl, piece by piece.
func (m *model) commands(pieces []string) (first error) {
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	part, long := "", false
	run := func(line string) error {
		line = strings.TrimSuffix(line, "\r")
		switch {
		case strings.TrimSpace(line) == "":
			return nil
		case line == "fail":
			return fs.Invalid
		}
		m.ran = append(m.ran, line)
		return nil
	}
	for _, p := range pieces {
		for p != "" {
			head, rest, whole := strings.Cut(p, "\n")
			if long || len(part)+len(head) > 8<<10 {
				part, long = "", !whole
				note(fs.TooBig)
				break
			}
			part += head
			if !whole {
				break
			}
			err := run(part)
			part, p = "", rest
			if err != nil {
				note(err)
				break
			}
		}
	}
	if err := run(part); err != nil {
		note(err)
	}
	return first
}

// body commits what is written to prompt or secret.
func (m *model) body(name, body string) error {
	if body == "" {
		return nil
	}
	if name == "secret" {
		body = strings.TrimSuffix(body, "\n")
	}
	switch {
	case strings.HasPrefix(body, "bad"), name == "prompt" && strings.TrimSpace(body) == "":
		return fs.Invalid
	}
	m.taken = append(m.taken, strconv.Quote(body))
	return nil
}

// set makes data the content of value.
func (m *model) set(data string) error {
	switch {
	case len(data) > maxValue:
		return fs.TooBig
	case strings.HasPrefix(data, "bad"):
		return fs.Invalid
	}
	m.value = &text{data} // who has the old one open keeps it
	return nil
}

func (m *model) truncate(t *rapid.T) {
	name, size := name(t, allNames), rapid.SampledFrom([]int64{0, 1, 10, maxValue, maxValue + 1, maxScratch + 1}).Draw(t, "size")
	content, dir, want := m.find(name)
	switch {
	case dir && size == 0:
		return // which over 9P is allowed
	case want != nil:
	case dir:
		want = fs.IsDir
	case name == "fixed" || name == "log":
		want = fs.Permission
	case name == "value" && size > 0:
		want = m.set(resized(content.string, size))
	case m.pad[name] != nil && size > maxScratch:
		want = fs.TooBig
	case m.pad[name] != nil || m.work[name] != nil:
		content.string = resized(content.string, size)
	}
	m.want("truncate "+name, m.d.Change(m.ctx, name, fs.Change{Size: &size}), want)
}

func resized(s string, size int64) string {
	if n := int(size) - len(s); n > 0 {
		return s + strings.Repeat("\x00", n)
	}
	return s[:size]
}

// create makes a file that is not there.
func (m *model) create(t *rapid.T) {
	name := name(t, slices.Concat(rootNames[6:9], workNames, roomNames[:1]))
	content := strings.Repeat(rapid.SampledFrom([]string{"", "one\n", "bad\n"}).Draw(t, "content"), rapid.SampledFrom([]int{1, 20_000}).Draw(t, "times"))
	_, _, want := m.find(name)
	switch {
	case want == nil:
		return // it is there
	case m.through(name) != nil:
		want = m.through(name)
	case strings.HasPrefix(name, "rooms"):
		want = fs.Fixed
	case strings.HasPrefix(name, "work"):
		want = nil
		m.work[name] = &text{content}
	default:
		want = nil
		m.pad[name] = &text{content}
	}
	m.want("create "+name, create(m.ctx, m.d, name, content), want)
}

func (m *model) mkdir(t *rapid.T) {
	name := name(t, allNames)
	_, _, want := m.find(name)
	switch {
	case want == nil:
		want = fs.Exist
	case m.through(name) != nil:
		want = m.through(name)
	case strings.HasPrefix(name, "work"):
		want = nil
		m.work[name] = nil
	case strings.HasPrefix(name, "rooms"):
		want = nil
		m.rooms[name] = true
	default:
		want = fs.Fixed
	}
	m.want("mkdir "+name, m.d.Mkdir(m.ctx, name, 0o755), want)
}

func (m *model) remove(t *rapid.T) {
	name := name(t, allNames)
	_, dir, want := m.find(name)
	_, inWork := m.work[name]
	switch {
	case want != nil:
	case m.pad[name] != nil:
		delete(m.pad, name)
	case m.rooms[name]:
		delete(m.rooms, name)
	case !inWork || name == "work":
		want = fs.Fixed
	case dir && m.below(name):
		want = fs.NotEmpty
	default:
		delete(m.work, name)
	}
	m.want("remove "+name, m.d.Remove(m.ctx, name), want)
}

// below reports whether there is anything in a directory of work.
func (m *model) below(dir string) bool {
	for name := range m.work {
		if path.Dir(name) == dir {
			return true
		}
	}
	return false
}
