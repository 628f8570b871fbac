package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBash(t *testing.T) {
	s := newShell(t)
	for _, tt := range []struct{ command, more, want, err string }{
		{`echo out; echo err >&2`, ``, "out\nerr", ""},
		{`printf a; printf b >&2`, ``, "a\nb", ""},
		{`true`, ``, "(no output)", ""},
		{`echo some; exit 3`, ``, "some", "Command exited with code 3"},
		{`exit 1`, ``, "(no output)", "Command exited with code 1"},
		{`kill -9 $$`, ``, "(no output)", "Command was ended by a signal (killed), code 137"},
		{`echo begun; sleep 60`, `,"timeout":"1.5"`, "begun", "Command timed out after 1.5s and was killed"},
		{`printf 'a\0b\tc\377'`, ``, "ab\tc\uFFFD", ""},
		{`pwd`, ``, s.dir, ""},
		{`seq 2000`, ``, strings.TrimSuffix(seq(1, 2000), "\n"), ""},
	} {
		r, err := s.use(t, "bash", fmt.Sprintf(`{"label":"x","command":%q%s}`, tt.command, tt.more))
		if got := fmt.Sprint(err); err != nil && got != tt.err || err == nil && tt.err != "" {
			t.Errorf("%s: error %v, want %q", tt.command, err, tt.err)
		}
		if got := plain(r); got != tt.want {
			t.Errorf("%s: %.200q, want %.200q", tt.command, got, tt.want)
		}
	}
}

func seq(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintln(&b, i)
	}
	return b.String()
}

var fullOutput = regexp.MustCompile(`utput: (\S+\.log)\]$`)

// kept reads the file that the notice of r names.
func kept(t *testing.T, r Result) string {
	t.Helper()
	m := fullOutput.FindStringSubmatch(plain(r))
	if m == nil {
		t.Fatalf("no file is named: %.200q", plain(r)[max(0, len(plain(r))-200):])
	}
	data, err := os.ReadFile(m[1])
	fatal(t, err)
	return string(data)
}

// Cut by lines alone, far below the limit in bytes, the notice names the file too.
func TestFault_21_39_output_cut_by_lines_names_its_file(t *testing.T) {
	s := newShell(t)
	r, err := s.use(t, "bash", `{"command":"seq 5000"}`)
	fatal(t, err)
	text := plain(r)
	if !strings.HasPrefix(text, "3001\n") || !strings.Contains(text, "\n5000\n\n[Lines 3001-5000 of 5000. Full output: "+s.dir+"/.mikan/bash-output/") {
		t.Errorf("%.60q … %q", text, text[len(text)-200:])
	}
	if kept(t, r) != seq(1, 5000) {
		t.Error("the file has not the full output")
	}
}

func TestBashCutByBytes(t *testing.T) {
	s := newShell(t)
	r, err := s.use(t, "bash", `{"command":"yes 0123456789012345678901234567890123456789 | head -n 1999; exit 7"}`)
	if err == nil || err.Error() != "Command exited with code 7" {
		t.Error(err)
	}
	shown, notice, _ := strings.Cut(plain(r), "\n\n")
	if len(shown) > maxBytes || strings.Count(shown, "\n")+1 != maxBytes/41 || !strings.HasPrefix(notice, "[Lines 752-1999 of 1999. Full output: ") {
		t.Errorf("%d bytes; %s", len(shown), notice)
	}
	if n := len(kept(t, r)); n != 1999*41 {
		t.Errorf("the file has %d bytes", n)
	}
}

func TestFault_F6_one_endless_line_is_cut_between_characters(t *testing.T) {
	s := newShell(t)
	family := "👨‍👩‍👧" // 18 bytes, which do not divide the limit
	s.put(t, "line", strings.Repeat(family, 4000))
	r, err := s.use(t, "bash", `{"command":"cat line"}`)
	fatal(t, err)
	shown, notice, _ := strings.Cut(plain(r), "\n\n")
	if shown != strings.Repeat(family, maxBytes/len(family)) {
		t.Errorf("%d bytes, %.40q", len(shown), shown)
	}
	if !strings.HasPrefix(notice, "[The last 50.0 KB of line 1, the last one. Full output: ") {
		t.Error(notice)
	}
}

func TestFault_P3_output_is_bounded_in_memory_and_on_disk(t *testing.T) {
	s := newShell(t)
	o := &output{all: spill{ctx: context.Background(), computer: s, name: "spill.log"}}
	w := o.writer(&o.stdout)
	for n := 0; n < 100<<20; n += maxBytes/2 + 2<<20 {
		w.Write([]byte(strings.Repeat("x", maxBytes/2)))
		w.Write([]byte(strings.Repeat("x", 2<<20)))
	}
	for range 20 {
		w.Write([]byte(strings.Repeat("y", maxBytes/2)))
	}
	if n := cap(o.stdout.kept) + cap(o.news) + cap(o.all.head); n > 10*maxBytes {
		t.Errorf("%d bytes are held", n)
	}
	text, _ := o.text()
	if !strings.HasPrefix(text, strings.Repeat("y", maxBytes)) || !strings.HasSuffix(text, "The first 64.0 MB of the output: spill.log]") {
		t.Errorf("%.200q", text[len(text)-200:])
	}
	if n := len(s.get(t, "spill.log")); n != maxSpill {
		t.Errorf("the file has %d bytes", n)
	}
}

func TestFault_P3_characters_split_across_reads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out := rapid.StringMatching(`(a|é|日|👩‍🚀|\n){0,40}`).Draw(t, "stdout")
		errs := rapid.StringMatching(`(b|ü|本|🏳️‍🌈|\n){0,40}`).Draw(t, "stderr")
		o := &output{}
		to := []*runes{o.writer(&o.stdout), o.writer(&o.stderr)}
		rest := []string{out, errs}
		var news strings.Builder
		for rest[0] != "" || rest[1] != "" {
			i := rapid.IntRange(0, 1).Draw(t, "which")
			n := rapid.IntRange(0, min(3, len(rest[i]))).Draw(t, "bytes")
			if w, err := to[i].Write([]byte(rest[i][:n])); w != n || err != nil {
				t.Fatal(w, err)
			}
			rest[i] = rest[i][n:]
			news.WriteString(o.unreported())
		}
		want := strings.TrimSuffix(out, "\n")
		if errs != "" && out != "" {
			want += "\n"
		}
		want += strings.TrimSuffix(errs, "\n")
		if strings.TrimSpace(want) == "" {
			want = "(no output)"
		}
		if got, _ := o.text(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		if strings.ContainsRune(news.String(), utf8.RuneError) || len(news.String()) != len(out)+len(errs) {
			t.Fatalf("progress: %q", news.String())
		}
	})
}

func TestAnOutputThatCannotBeSavedSaysSo(t *testing.T) {
	s := newShell(t)
	s.put(t, ".mikan", "in the way")
	r, err := s.use(t, "bash", `{"command":"seq 3000"}`)
	fatal(t, err)
	if !strings.Contains(plain(r), "[Lines 1001-3000 of 3000. The full output could not be saved: ") {
		t.Errorf("%q", plain(r)[len(plain(r))-200:])
	}
}

func TestAStoppedCommandKeepsItsOutput(t *testing.T) {
	for cause, want := range map[error]string{
		ErrStopped:     "Command was stopped by the user",
		ErrInterrupted: "Command was interrupted: the daemon ended",
	} {
		s := newShell(t)
		ctx, stop := stopping()
		r, err := s.useCtx(t, ctx, "bash", `{"command":"seq 3000; sleep 60"}`, func(p string) { stop(cause) })
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		if kept(t, r) != seq(1, 3000) {
			t.Error("the file has not the full output")
		}
	}
}

func TestProgressComesWhileTheCommandRuns(t *testing.T) {
	s := newShell(t)
	ctx, stop := stopping()
	var got strings.Builder
	s.useCtx(t, ctx, "bash", `{"command":"echo hello; sleep 60"}`, func(p string) {
		got.WriteString(p)
		stop(errors.New("seen"))
	})
	if got.String() != "hello\n" {
		t.Errorf("%q", got.String())
	}
}
