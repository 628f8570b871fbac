package v3

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"mikan/wire"
)

// show is a context for people: one message a line.
func show(msgs []wire.Message) (lines []string) {
	for _, m := range msgs {
		line := m.Role
		for _, p := range m.Content {
			switch p.Type {
			case wire.ToolCall:
				line += fmt.Sprintf(" call %s %s %s", p.ID, p.Name, p.Arguments)
			case wire.Thinking:
				line += " (" + p.Thinking + ")"
			default:
				line += " " + p.Text
			}
		}
		if m.Role == wire.ToolResult {
			line += " of " + m.ToolCallID
		}
		lines = append(lines, line)
	}
	return lines
}

// The files of an installation of version 0.5.3 are read with the contexts that
// its own reader gives.
func TestContract_v3_contexts_of_the_original(t *testing.T) {
	for _, c := range []struct {
		file, name, model, thinking string
		want                        []string
	}{
		{"2026-07-01T02-00-00-000Z_aa000001.jsonl", "plants", "stub/m1", "high", []string{
			"user [2026-07-01 10:00:01+08:00] [ann]: list files",
			`assistant (look) call c1 bash {"label":"ls","command":"ls"}`,
			"toolResult a.txt\nb.txt\n of c1",
			"assistant Two files.",
			"user [2026-07-01 10:06:00+08:00] [ann]: try B instead",
			"user The conversation came back from another branch, of which this is a summary:\n\n<summary>\nOption A was tried and failed.\n</summary>",
			"assistant B works 日本 👍",
		}},
		{"2026-07-02T02-00-00-000Z_aa000002.jsonl", "", "stub/m1", "off", []string{
			"user The conversation before this point was compacted into the following summary:\n\n<summary>\nGoal: plants. Done: watering.\n</summary>",
			"user kept question",
			"assistant kept answer",
			`assistant call c9 bash {"label":"sleep","command":"sleep 99"}`,
		}},
		{"daily.jsonl", "", "stub/m1", "off", []string{
			"user [2026-07-03 09:00:00+08:00] [EVENT]: Handle the following recurring task.",
			"assistant [SILENT]",
		}},
		{"1782874800.000100.jsonl", "deploy?", "stub/m1", "off", []string{
			"user [2026-07-01 11:00:00+08:00] [bob] [in-thread:1782874800.000100]: deploy?",
			"assistant Deployed.",
		}},
	} {
		data, err := os.ReadFile(filepath.Join("testdata", c.file))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if diff := cmp.Diff(c.want, show(s.Visible())); diff != "" {
			t.Errorf("%s: %s", c.file, diff)
		}
		if got := []string{s.Name, s.Provider + "/" + s.Model, s.Thinking}; !cmp.Equal(got, []string{c.name, c.model, c.thinking}) {
			t.Errorf("%s: %q", c.file, got)
		}
	}
}

const (
	header = `{"type":"session","version":3,"id":"u","timestamp":"2026-07-01T02:00:00.000Z","cwd":"/"}` + "\n"
	first  = `{"type":"message","id":"a1","parentId":null,"timestamp":"2026-07-01T02:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}` + "\n"
)

func reply(id, parent, text, more string) string {
	return fmt.Sprintf(`{"type":"message","id":%q,"parentId":%q,"timestamp":"","message":{"role":"assistant","content":[{"type":"text","text":%q}],"timestamp":2%s}}`+"\n", id, parent, text, more)
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		want []string
	}{
		"only a header":      {header, nil},
		"no newline":         {strings.TrimSpace(header + first), []string{"user hi"}},
		"torn":               {header + first + `{"type":"mess`, []string{"user hi"}},
		"torn, with newline": {header + first + "{\"type\":\"mess\n", []string{"user hi"}},
		"blank lines, CRLF":  {"\n" + strings.ReplaceAll(header, "\n", "\r\n") + "\n\n" + first, []string{"user hi"}},
		"the last of two with one id": {
			header + first + reply("a2", "a1", "one", "") + reply("a2", "a1", "two", ""), []string{"user hi", "assistant two"}},
		"a failed reply": {header + first + reply("a2", "a1", "no", `,"stopReason":"error"`) + reply("a3", "a2", "yes", ""),
			[]string{"user hi", "assistant yes"}},
		"a parent that is not there": {header + first + reply("a2", "gone", "alone", ""), []string{"assistant alone"}},
		"labels are no branch": {header + first + reply("a2", "a1", "kept", "") + `{"type":"label","id":"a3","parentId":"a1","targetId":"a1","label":"x"}` + "\n",
			[]string{"user hi", "assistant kept"}},
		"a message of an extension": {header + `{"type":"custom_message","id":"a1","parentId":null,"customType":"x","content":"seen","display":true,"details":[1]}` + "\n",
			[]string{"user seen"}},
		"details of any shape": {header + first + `{"type":"compaction","id":"a2","parentId":"a1","summary":"s","firstKeptEntryId":"a1","details":"odd"}` + "\n",
			[]string{"user The conversation before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>", "user hi"}},
		"what is not known": {header + first + `{"type":"future","id":"a2","parentId":"a1"}` + "\n" + reply("a3", "a2", "on", ""), []string{"user hi", "assistant on"}},
		"version 1": {`{"type":"session","id":"u","cwd":"/","provider":"p","modelId":"m"}` + "\n" +
			`{"type":"message","timestamp":"","message":{"role":"user","content":"old","timestamp":1}}` + "\n" +
			`{"type":"message","timestamp":"","message":{"role":"user","content":"kept","timestamp":1}}` + "\n" +
			`{"type":"compaction","timestamp":"","summary":"s","firstKeptEntryIndex":2,"tokensBefore":3}` + "\n" +
			`{"type":"message","timestamp":"","message":{"role":"user","content":"new","timestamp":1}}` + "\n",
			[]string{"user The conversation before this point was compacted into the following summary:\n\n<summary>\ns\n</summary>", "user kept", "user new"}},
		"version 2": {`{"type":"session","version":2,"id":"u"}` + "\n" + strings.Replace(first, `"user"`, `"hookMessage"`, 1), []string{"user hi"}},
	} {
		s, err := Read(strings.NewReader(c.file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(c.want, show(s.Visible())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// What is wrong with a file is an error that says where, and never a session that
// is empty.
func TestFault_21_19_a_corrupt_session_file_is_an_error(t *testing.T) {
	for file, want := range map[string]string{
		`{"type":"sess`:                                       "line 1",
		`{"type":"message","id":"x"}` + "\n":                  "line 1: not the header",
		`[]` + "\n":                                           "line 1",
		`{"type":"session"}` + "\n" + first:                   "line 1: not the header",
		strings.Replace(header, "3", "4", 1):                  "version 4",
		strings.Replace(header, "3", "-1", 1):                 "version -1",
		header + "bad\n" + first:                              "line 2",
		header + first + "bad\nbad\n":                         "line 3",
		header + `{"type":"message","id":"a"}` + "\n" + first: "line 2: a message without",
		header + `{"type":"message","message":{"role":"user","content":"x"}}` + "\n":                                            "line 2: an entry without",
		header + `{"type":"message","id":"a","message":{"role":"stranger","content":"x"}}` + "\n":                               "stranger",
		header + `{"type":"message","id":"a","message":{"role":"user","content":7}}` + "\n":                                     "content",
		header + reply("a", "b", "x", "") + reply("b", "a", "y", ""):                                                            "own ancestor",
		header + reply("a", "a", "x", ""):                                                                                       "own ancestor",
		header + `{"type":"custom_message","id":"a1","parentId":null,"customType":"x","content":{"a":1},"display":true}` + "\n": "content",
	} {
		if _, err := Read(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.90q: %v, want %s", file, err, want)
		}
	}
	broken := io.MultiReader(strings.NewReader(header), iotest.ErrReader(bufio.ErrTooLong))
	if _, err := Read(broken); !errors.Is(err, bufio.ErrTooLong) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a line that cannot be read: %v", err)
	}
	for _, file := range []string{"", "\n", " \r\n\n"} {
		if _, err := Read(strings.NewReader(file)); !errors.Is(err, ErrEmpty) {
			t.Errorf("%q: %v, want %v", file, err, ErrEmpty)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(header + first + `{"type":"compaction","id":"a2","parentId":"a1","firstKeptEntryId":"a2"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		if s.Header.ID == "" {
			t.Fatal("a session without an id")
		}
		for _, m := range s.Visible() {
			if m.Role != wire.User && m.Role != wire.Assistant && m.Role != wire.ToolResult {
				t.Fatalf("a message of the role %q", m.Role)
			}
		}
	})
}
