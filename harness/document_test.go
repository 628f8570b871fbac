package harness

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDocuments(t *testing.T) {
	dir := t.TempDir()
	agents := filepath.Join(dir, "agents")
	fatal(t, os.Mkdir(agents, 0o700))
	for name, text := range map[string]string{
		"b.md":      "\uFEFF---\ndescription: two # words\n---\r\n\r\nDo\n---\nthis.\n\n",
		"a.md":      "---\ntools: none\n---\n",
		"bad.md":    "no frontmatter\n",
		"open.md":   "---\ntools: none\n",
		"large.md":  "---\na: b\n---\n" + strings.Repeat("x", maxDocument),
		"notes.txt": "---\n---\n",
	} {
		fatal(t, os.WriteFile(filepath.Join(agents, name), []byte(text), 0o600))
	}
	fatal(t, os.Symlink("a.md", filepath.Join(agents, "link.md")))
	fatal(t, syscall.Mkfifo(filepath.Join(agents, "pipe.md"), 0o600))
	fatal(t, os.Mkdir(filepath.Join(agents, "dir.md"), 0o700))

	docs, notes := Documents(dir, "agents")
	want := []Document{
		{Name: "a", Fields: map[string]string{"tools": "none"}},
		{Name: "b", Fields: map[string]string{"description": "two"}, Body: "Do\n---\nthis."},
	}
	if d := cmp.Diff(want, docs); d != "" {
		t.Error(d)
	}
	if got := strings.Join(notes, "\n"); len(notes) != 3 || !strings.Contains(got, "bad.md: ") || !strings.Contains(got, "open.md: ") || !strings.Contains(got, "large.md: the file is larger than 256.0 KB") {
		t.Errorf("notes:\n%s", got)
	}
	if docs, notes := Documents(dir, "none"); docs != nil || notes != nil {
		t.Errorf("of nothing: %v %v", docs, notes)
	}
	fatal(t, os.Symlink("agents", filepath.Join(dir, "elsewhere")))
	if docs, notes := Documents(dir, "elsewhere"); docs != nil || len(notes) != 1 || !strings.Contains(notes[0], "a symbolic link") {
		t.Errorf("of a link: %v %v", docs, notes)
	}
}

func TestDocumentsAmongTooManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range maxEntries {
		fatal(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), nil, 0o600))
	}
	if _, notes := Documents(dir, "."); len(notes) != 1 || !strings.Contains(notes[0], "some are left out") {
		t.Errorf("notes: %q", notes)
	}
}

// A value of very many lines costs what it is long, not its square.
func TestFrontmatterOfManyLines(t *testing.T) {
	text := []byte("---\ndescription: a\n" + strings.Repeat(" b\n", maxDocument/4) + "---\n")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fields, err := frontmatter(text)
	runtime.ReadMemStats(&after)
	if err != nil || len(fields["description"]) != 1+2*maxDocument/4 {
		t.Errorf("%d bytes, %v", len(fields["description"]), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 64*maxDocument {
		t.Errorf("%d bytes were allocated for a file of %d", used, len(text))
	}
}

func TestAMeterEndsTheRunBeforeTheNextModelCall(t *testing.T) {
	above := NewMeter(Limits{Tokens: 20}, nil)
	b := newBench([]Tool{echo()}, says(call("1", "echo", `{}`)), says(call("2", "echo", `{}`)), says(text("never")))
	b.Meter = NewMeter(Limits{Duration: time.Hour}, above)
	e := b.Do(t.Context())
	if e.Outcome != "budget" || e.Err == nil || e.Err.Error() != "24 tokens >= 20 limit" {
		t.Errorf("%+v", e)
	}
	lawful(t, b.all(e))
	if u, calls := above.Spent(); u.Total != 24 || calls != 2 {
		t.Errorf("%+v in %d calls", u, calls)
	}
}

// The answer that reaches the limit is still an answer.
func TestFault_21_30_a_limit_reached_by_the_final_answer_is_no_failure(t *testing.T) {
	b := newBench(nil, says(text("done")))
	b.Meter = NewMeter(Limits{Tokens: 1}, nil)
	if e := b.Do(t.Context()); e.Outcome != "ok" {
		t.Errorf("%+v", e)
	}
}
