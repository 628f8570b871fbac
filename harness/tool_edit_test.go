package harness

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func editArgs(t *testing.T, old, new string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"label": "x", "path": "f", "oldText": old, "newText": new})
	fatal(t, err)
	return string(args)
}

func TestEdit(t *testing.T) {
	for name, tt := range map[string]struct{ before, old, new, after, err string }{
		"one place":            {"a\nb\nc\n", "b", "B", "a\nB\nc\n", ""},
		"several lines":        {"a\nb\nc\n", "a\nb\n", "", "c\n", ""},
		"not there":            {"a\n", "b", "c", "a\n", "edit f: oldText was not found; it must match the file exactly, white space and line ends included: read the file again"},
		"three times":          {"a a a\n", "a", "c", "a a a\n", "edit f: oldText occurs 3 times; take in more of the lines around it so that it occurs once"},
		"over itself":          {"aaa", "aa", "c", "aaa", "edit f: oldText occurs 2 times; take in more of the lines around it so that it occurs once"},
		"very often":           {strings.Repeat("a", 5000), "a", "c", strings.Repeat("a", 5000), "edit f: oldText occurs 1000 times or more; take in more of the lines around it so that it occurs once"},
		"identical":            {"a\n", "a", "a", "a\n", "edit f: oldText and newText are identical; nothing to do"},
		"empty":                {"a\n", "", "b", "a\n", "edit f: oldText is empty; use write to make a file"},
		"dos lines":            {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n", ""},
		"dos, one line":        {"a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", ""},
		"mixed lines, found":   {"a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n", ""},
		"mixed lines, as dos":  {"a\r\nb\r\nc\n", "a\nb", "x\ny", "x\r\ny\r\nc\n", ""},
		"byte order mark":      {bom + "a\nb\n", "a\n", "x\n", bom + "x\nb\n", ""},
		"not UTF-8 elsewhere":  {"caf\xe9\nb\n", "b", "c", "caf\xe9\nc\n", ""},
		"no newline at end":    {"a\nb", "b", "c", "a\nc", ""},
		"shell metacharacters": {"$(x) 'y'\n", "$(x) 'y'", "`z` \\ \"", "`z` \\ \"\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShell(t)
			s.put(t, "f", tt.before)
			_, err := s.use(t, "edit", editArgs(t, tt.old, tt.new))
			if err != nil && err.Error() != tt.err || err == nil && tt.err != "" {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if d := cmp.Diff(tt.after, s.get(t, "f")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestEditShowsTheChange(t *testing.T) {
	s := newShell(t)
	s.put(t, "f", numbered(1, 12))
	r, err := s.use(t, "edit", editArgs(t, "line 6\nline 7\n", "line six\nand a half\nline 7\n"))
	fatal(t, err)
	want := `Edited f:
  2 line 2
  3 line 3
  4 line 4
  5 line 5
- 6 line 6
+ 6 line six
+ 7 and a half
  8 line 7
  9 line 8
 10 line 9
 11 line 10`
	if d := cmp.Diff(want, plain(r)); d != "" {
		t.Error(d)
	}
}

func TestEditOfALargeChangeIsCut(t *testing.T) {
	s := newShell(t)
	s.put(t, "f", "a\n")
	r, err := s.use(t, "edit", editArgs(t, "a", numbered(1, 9000)))
	fatal(t, err)
	if text := plain(r); len(text) > maxBytes+100 || !strings.HasSuffix(text, "\n[The rest of the change is not shown]") {
		t.Errorf("%d bytes", len(text))
	}
}

func TestEditRefusesAFileThatIsTooLarge(t *testing.T) {
	s := newShell(t)
	s.put(t, "f", strings.Repeat("x", maxEdit+1))
	if _, err := s.use(t, "edit", editArgs(t, "y", "z")); err == nil || err.Error() != "edit f: the file is larger than 10.0 MB; change it with bash" {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	s := newShell(t)
	for _, tt := range []struct{ args, want string }{
		{`{"path":"new/dir/f","content":"héllo\n"}`, "Wrote 7 bytes (6 characters) to new/dir/f"},
		{`{"path":"new/dir/f","content":""}`, "Wrote 0 bytes (0 characters) to new/dir/f"},
	} {
		r, err := s.use(t, "write", tt.args)
		fatal(t, err)
		if plain(r) != tt.want {
			t.Errorf("%q, want %q", plain(r), tt.want)
		}
	}
	if got := s.get(t, "new/dir/f"); got != "" {
		t.Errorf("%q", got)
	}
	for _, args := range []string{`{"path":"x"}`, `{"content":"x"}`, `{"path":"","content":"x"}`} {
		if _, err := s.use(t, "write", args); err == nil {
			t.Errorf("%s was taken", args)
		}
	}
}

// Large and binary-looking contents go through whole: no shell, no argument
// list stands between.
func TestFault_21_26_write_takes_what_no_command_line_could(t *testing.T) {
	s := newShell(t)
	content := strings.Repeat("'\"$`\\ \u0000é\n", 300_000)
	args, err := json.Marshal(map[string]string{"path": "f", "content": content})
	fatal(t, err)
	_, err = s.use(t, "write", string(args))
	fatal(t, err)
	if s.get(t, "f") != content {
		t.Error("the file differs")
	}
}

func TestWriteSparesAMemoryThatOthersWriteToo(t *testing.T) {
	s := newShell(t)
	for _, c := range []struct{ tool, args, want string }{
		{"write", `{"path":"MEMORY.md","content":"one\n"}`, ""},
		{"write", `{"path":"MEMORY.md","content":"mine\n"}`, "change it with edit"},
		{"write", `{"path":"./x/../MEMORY.md","content":"mine\n"}`, "change it with edit"},
		{"write", `{"path":"` + s.dir + `/MEMORY.md","content":""}`, "change it with edit"},
		{"edit", `{"path":"MEMORY.md","oldText":"two\n","newText":"2\n"}`, "was not found"},
		{"edit", `{"path":"MEMORY.md","oldText":"one\n","newText":"one\ntwo\n"}`, ""},
		{"edit", `{"path":"MEMORY.md","oldText":"one\ntwo\n","newText":" \n"}`, ""},
		{"write", `{"path":"MEMORY.md","content":"anew\n"}`, ""},
		{"write", `{"path":"notes.md","content":"1"}`, ""},
		{"write", `{"path":"notes.md","content":"2"}`, ""},
	} {
		_, err := s.use(t, c.tool, c.args)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.tool, c.args, err, c.want)
		}
	}
	if got := s.get(t, "MEMORY.md"); got != "anew\n" {
		t.Errorf("the memory is %q", got)
	}
}
