package fstest

import (
	"context"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/fs"
)

// The names that a random sequence uses: in the root, where s1 to s3 are
// scratch; in rooms; and in the host directory.
var (
	rootNames = []string{"value", "fixed", "secret", "ctl", "prompt", "log", "s1", "s2", "s3", "nothing"}
	roomNames = []string{"rooms/red", "rooms/blue", "rooms"}
	workNames = []string{"work", "work/a", "work/b", "work/d", "work/e", "work/a/x", "work/d/a", "work/d/b", "work/d/e", "work/d/e/a"}
	allNames  = slices.Concat(rootNames, roomNames, workNames)
)

// CheckModel does random sequences of operations through the door of a sample
// tree and in a model of it, which is a few maps in memory, and compares what is
// read, sizes, versions, listings and the kinds of errors. The tree is put back
// to its beginning for each sequence.
func CheckModel(t *testing.T, d Door) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newModel(rt, t.Context(), d)
		defer m.end()
		rt.Repeat(map[string]func(*rapid.T){
			"read": m.read, "write": m.write, "write more": m.write, "truncate": m.truncate, "create": m.create,
			"mkdir": m.mkdir, "rename": m.rename, "rename scratch": m.renameScratch, "remove": m.remove, "append to the log": m.appendLog,
			"open": m.open, "read on": m.readOn, "read on more": m.readOn, "close": m.close,
			"": m.agrees,
		})
	})
}

// model is what the tree should be.
type model struct {
	t   *rapid.T
	ctx context.Context
	d   Door

	turn     int // of what agrees looks at
	value    *text
	versions map[string]uint32 // of each content that value had
	ran      []string
	taken    []string
	log      *text
	pad      map[string]*text // scratch
	work     map[string]*text // nil: a directory
	rooms    map[string]bool
	readers  []*reader
}

// text is the content of a file. Open files share it.
type text struct{ string }

// reader is an open file and what it must read.
type reader struct {
	name string
	file File
	text *text
	off  int
}

func newModel(t *rapid.T, ctx context.Context, d Door) *model {
	m := &model{
		t: t, ctx: ctx, d: d, value: &text{"one\n"}, log: &text{}, versions: map[string]uint32{},
		pad: map[string]*text{}, work: map[string]*text{"work": nil}, rooms: map[string]bool{},
	}
	m.want("the beginning", drive(ctx, d, "reset"), nil)
	return m
}

// end closes and removes what the sequence left.
func (m *model) end() {
	for _, r := range m.readers {
		_ = r.file.Close()
	}
	for _, names := range [][]string{workNames[1:], rootNames[6:9]} {
		for _, name := range slices.Backward(names) {
			_ = m.d.Remove(m.ctx, name) // what is not there does not matter
		}
	}
}

// want compares an error with the kind that it should be of, nil for none.
func (m *model) want(what string, err, kind error) {
	if kind == nil && err != nil {
		m.t.Fatalf("%s: %v", what, err)
	}
	if kind != nil && (err == nil || fs.KindOf(err) != kind) {
		m.t.Fatalf("%s: %v; want %q", what, err, kind)
	}
}

// find says what the model has under a name: what a reader would get, whether it
// is a directory, and the error of who walks there.
func (m *model) find(name string) (content *text, dir bool, err error) {
	switch {
	case name == "value":
		return m.value, false, nil
	case name == "fixed":
		return &text{"fixed\n"}, false, nil
	case name == "ctl":
		return &text{join(m.ran)}, false, nil
	case name == "log":
		return m.log, false, nil
	case name == "prompt" || name == "secret":
		return &text{}, false, nil
	case name == "rooms" || m.rooms[name]:
		return nil, true, nil
	case m.pad[name] != nil:
		return m.pad[name], false, nil
	case !strings.HasPrefix(name, "work"):
		return nil, false, fs.NotExist
	}
	if f, ok := m.work[name]; ok {
		return f, f == nil, nil
	}
	if err := m.through(name); err != nil {
		return nil, false, err
	}
	return nil, false, fs.NotExist
}

// through is the error of a walk to a name whose parent is no directory.
func (m *model) through(name string) error {
	if path.Dir(name) == "." {
		return nil
	}
	if _, dir, err := m.find(path.Dir(name)); err != nil {
		return err
	} else if !dir {
		return fs.NotDir
	}
	return nil
}

// agrees compares what the tree looks like: a quarter of it after each step.
func (m *model) agrees(*rapid.T) {
	m.turn++
	for i, name := range allNames {
		if i%4 != m.turn%4 {
			continue
		}
		content, dir, want := m.find(name)
		info, err := m.d.Stat(m.ctx, name)
		m.want("stat "+name, err, want)
		if want != nil {
			continue
		}
		if info.Mode.IsDir() != dir {
			m.t.Fatalf("%s is a directory: %v; want %v", name, info.Mode.IsDir(), dir)
		}
		if !dir && info.Size != int64(len(content.string)) {
			m.t.Fatalf("%s has %d bytes; want %d", name, info.Size, len(content.string))
		}
		if name == "value" {
			m.version(info)
		}
	}
	switch m.turn % 4 {
	case 0:
		m.reads("bodies", join(m.taken))
	case 1:
		m.lists("work")
	case 2:
		m.lists("rooms")
	}
}

// version checks that value has the same version as long as it is the same, and
// another when it is not. A mount shows none.
func (m *model) version(info fs.Info) {
	if info.Version == 0 {
		return
	}
	key := strconv.Itoa(int(info.MTime.Unix())) + m.value.string
	if old, ok := m.versions[key]; ok && old != info.Version {
		m.t.Fatalf("value has not changed, and its version has")
	}
	for other, v := range m.versions {
		if other != key && v == info.Version {
			m.t.Fatalf("value has changed, and its version has not")
		}
	}
	m.versions[key] = info.Version
}

func (m *model) reads(name, want string) {
	got, err := readAll(m.ctx, m.d, name)
	m.want("read "+name, errors.Join(err, same(name, got, want)), nil)
}

func (m *model) lists(dir string) {
	var want []string
	for _, name := range allNames {
		if _, _, err := m.find(name); err == nil && path.Dir(name) == dir {
			want = append(want, path.Base(name))
		}
	}
	slices.Sort(want)
	got, err := list(m.ctx, m.d, dir)
	m.want("list "+dir, errors.Join(err, same("the list of "+dir, got, strings.Join(want, " "))), nil)
}
