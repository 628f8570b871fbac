package tree_test

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	mfs "mikan/fs"
	"mikan/wire"
)

// here puts names that exist in a lab in the place of the table's.
var here = strings.NewReplacer("<platform>", "local", "<conversation>", "a", "<name>", "main", "<tool>", "weather", "<id>", "1")

func TestTree_has_every_file_of_the_table_with_its_mode_and_kind(t *testing.T) {
	l := newLab(t)
	l.task("a")
	kinds := map[string]fs.FileMode{"dir": fs.ModeDir, "log": fs.ModeAppend}
	for _, f := range wire.TreeFiles {
		name := here.Replace(path.Join(string(f.Place), f.Name))
		info, err := l.root.Stat(l.ctx(), name)
		if err != nil {
			t.Error(err)
			continue
		}
		want := fs.FileMode(f.Mode) | kinds[f.Kind]
		if f.Hidden {
			want |= fs.ModeTemporary
		}
		if f.Name == "out" || f.Name == "call" {
			want |= fs.ModeExclusive
		}
		if info.Mode != want || info.UID != uint32(os.Getuid()) || info.GID != uint32(os.Getgid()) {
			t.Errorf("%s is %v of %d:%d; the table has %v, %s", name, info.Mode, info.UID, info.GID, want, f.Kind)
		}
		if f.Hidden && info.Size != 0 {
			t.Errorf("%s may block and has a size of %d", name, info.Size)
		}
	}
}

func TestTree_lists_what_the_table_has_and_nothing_else(t *testing.T) {
	l := newLab(t)
	l.task("a")
	for _, p := range wire.Places {
		name := here.Replace(string(p.Place))
		list, err := l.root.ReadDir(l.ctx(), name)
		if err != nil {
			t.Fatal(err)
		}
		var have, want []string
		for _, info := range list {
			have = append(have, info.Name)
		}
		for _, f := range wire.FilesAt(p.Place) {
			if !f.Hidden {
				want = append(want, here.Replace(f.Name))
			}
		}
		if p.Place == wire.PlacePlatform {
			want = append(want, "b")
		}
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Errorf("/%s lists %q; want %q", name, have, want)
		}
		if got := l.get(path.Join(name, wire.ReadmeName)); got != wire.Readme(p.Place) {
			t.Errorf("/%s/README says %q", name, got)
		}
	}
}

// walk visits all that is listed below dir.
func (l *lab) walk(dir string, visit func(name string, info mfs.Info)) {
	l.Helper()
	list, err := l.root.ReadDir(l.ctx(), dir)
	if err != nil {
		l.Fatal(err)
	}
	for _, info := range list {
		name := path.Join(dir, info.Name)
		visit(name, info)
		if info.Mode.IsDir() {
			l.walk(name, visit)
		}
	}
}

// hostState is what lies on the disk, but for what SQLite keeps beside an open
// database.
func (l *lab) hostState() map[string]string {
	l.Helper()
	state := map[string]string{}
	for _, dir := range []string{l.ws.Root, l.ws.StateDir} {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || strings.HasSuffix(name, "-wal") || strings.HasSuffix(name, "-shm") {
				return err
			}
			data, err := os.ReadFile(name)
			state[name] = string(data)
			return err
		})
		if err != nil {
			l.Fatal(err)
		}
	}
	return state
}

func TestTree_reading_ends_and_changes_nothing(t *testing.T) {
	l := newLab(t)
	l.put("offices/local/a/ctl", "prompt hello\n")
	l.get("offices/local/a/wait")
	before, read := l.hostState(), 0
	for range 2 {
		l.walk("", func(name string, info mfs.Info) {
			if info.Mode.IsDir() {
				return
			}
			if text := l.get(name); int64(len(text)) != info.Size && !strings.HasSuffix(name, "status") && !strings.HasSuffix(name, "ctl") {
				t.Errorf("%s has a size of %d and gives %d bytes", name, info.Size, len(text))
			}
			read++
		})
	}
	after := l.hostState()
	for name, text := range after {
		if before[name] != text {
			t.Errorf("reading has changed %s", name)
		}
	}
	if len(before) != len(after) || read < 50 {
		t.Errorf("%d files on the disk, then %d; %d were read", len(before), len(after), read)
	}
}

func TestTree_a_name_has_one_spelling(t *testing.T) {
	l := newLab(t)
	long := strings.Repeat("x", 256)
	for _, c := range []struct {
		name       string
		made, told error
		say        string
	}{
		{"offices/local/C%251", nil, nil, ""},
		{"offices/local/C%2f1", mfs.Invalid, mfs.NotExist, `write "C%2F1"`},
		{"offices/local/100%", mfs.Invalid, mfs.NotExist, "%25"},
		{"offices/local/%41", mfs.Invalid, mfs.NotExist, `write "A"`},
		{"offices/local/" + long, mfs.NameTooLong, mfs.NotExist, ""},
		{"offices/slack/C1", mfs.NotExist, mfs.NotExist, ""},
		{"offices/Local", mfs.Fixed, mfs.NotExist, ""},
		{"offices/local/a/sessions/red%20", mfs.Invalid, mfs.NotExist, ""},
		{"offices/local/a/sessions/%6Dain", nil, nil, ""},
		{"offices/local/a/sessions/README", mfs.Exist, nil, ""},
		{"offices/local/a/files/deep", nil, nil, ""},
		{"shared/other", mfs.Fixed, mfs.NotExist, "nothing else"},
		{"shared/skills", nil, nil, ""},
		{"other", mfs.Fixed, mfs.NotExist, ""},
	} {
		err := l.root.Mkdir(l.ctx(), c.name, 0o750)
		if !errors.Is(err, c.made) || c.made != nil && !strings.Contains(err.Error(), c.say) {
			t.Errorf("mkdir %.60s: %v; want %v, %q", c.name, err, c.made, c.say)
		}
		if _, err := l.root.Stat(l.ctx(), c.name); !errors.Is(err, c.told) && !(len(c.name) > 255 && errors.Is(err, mfs.NameTooLong)) {
			t.Errorf("stat %.60s: %v; want %v", c.name, err, c.told)
		}
	}
}

func TestTree_rmdir_puts_away_and_mkdir_brings_back(t *testing.T) {
	l := newLab(t)
	l.put("offices/local/a/ctl", "prompt remember\n")
	l.get("offices/local/a/wait")
	transcript := l.get("offices/local/a/sessions/main/transcript")
	for _, name := range []string{"offices/local/a/sessions/main", "offices/local", "offices", "offices/local/a/sessions"} {
		if err := l.root.Remove(l.ctx(), name); !errors.Is(err, mfs.Fixed) && !errors.Is(err, mfs.NotEmpty) {
			t.Errorf("rmdir %s: %v", name, err)
		}
	}
	if err := l.root.Remove(l.ctx(), "offices/local/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.root.Stat(l.ctx(), "offices/local/a/ctl"); !errors.Is(err, mfs.NotExist) {
		t.Errorf("an archived office: %v", err)
	}
	if err := l.root.Mkdir(l.ctx(), "offices/local/a", 0o750); err != nil {
		t.Fatal(err)
	}
	if got := l.get("offices/local/a/sessions/main/transcript"); got != transcript {
		t.Errorf("brought back, it remembers %q; want %q", got, transcript)
	}
}

func TestTree_the_roots_ctl_reaches_the_daemon(t *testing.T) {
	l := newLab(t)
	l.put("ctl", "debug on\ndebug off\nreload\nshutdown\n")
	for line, say := range map[string]string{"debug maybe": "on|off", "shutdwon": "did you mean shutdown?", "prompt hello": "unknown verb"} {
		if err := l.root.WriteFile(l.ctx(), "ctl", []byte(line+"\n")); !errors.Is(err, mfs.Invalid) || !strings.Contains(err.Error(), say) {
			t.Errorf("%s: %v", line, err)
		}
	}
	l.note(func() {
		if l.shutdown != 1 || !slices.Equal(l.debug, []bool{true, false}) {
			t.Errorf("%d ends, debug %v", l.shutdown, l.debug)
		}
	})
	for _, name := range []string{"ctl", "status"} {
		for _, want := range []string{"version test\n", "offices 2\n", "socket /nowhere\n"} {
			if got := l.get(name); !strings.Contains(got, want) {
				t.Errorf("%s lacks %q: %s", name, want, got)
			}
		}
	}
	l.put("ctl", "drain\n")
	if err := l.root.WriteFile(l.ctx(), "offices/local/a/ctl", []byte("prompt hello\n")); !errors.Is(err, mfs.Again) {
		t.Errorf("a prompt to a daemon that drains: %v", err)
	}
}

func TestTree_settings_are_judged_where_they_are_written(t *testing.T) {
	l := newLab(t)
	for _, name := range []string{"settings.json", "offices/local/a/settings.json"} {
		old := l.get(name)
		if err := l.root.WriteFile(l.ctx(), name, []byte(`{"llm":{"modle":"x"}}`)); !errors.Is(err, mfs.Invalid) || !strings.Contains(err.Error(), "did you mean model?") {
			t.Errorf("%s: %v", name, err)
		}
		if got := l.get(name); got != old {
			t.Errorf("%s is %q after a bad write; want %q", name, got, old)
		}
	}
	l.put("offices/local/a/settings.json", `{"llm":{"thinkingLevel":"high"}}`)
	for office, want := range map[string]string{"a": "thinking high\n", "b": "thinking off\n"} {
		if got := l.get("offices/local/" + office + "/status"); !strings.Contains(got, want) {
			t.Errorf("%s lacks %q: %s", office, want, got)
		}
	}
}

func TestScratchStaysWhenTheGarbageCollectorHasBeen(t *testing.T) {
	l := newLab(t)
	f, err := l.root.Create(l.ctx(), "offices/local/a/tmp", 0o600, mfs.Write)
	if err == nil {
		_, err = f.Write([]byte(`{"slack":{"replyMode":"thread"}}`))
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	for range 3 {
		goruntime.GC()
	}
	if err := l.root.Rename(l.ctx(), "offices/local/a/tmp", "settings.json"); err != nil {
		t.Error(err)
	}
}
