package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	s := newShell(t)
	s.put(t, "short", "a\nb\n")
	s.put(t, "open", "a\nb")
	s.put(t, "dos", bom+"a\r\nb\r\n")
	s.put(t, "empty", "")
	s.put(t, "lines", numbered(1, 5000))
	s.put(t, "wide", strings.Repeat(strings.Repeat("w", 1023)+"\n", 100))
	s.put(t, "it's long", "x\n"+strings.Repeat("é", 60_000)+"\n")
	s.put(t, "latin1", "caf\xe9\n")
	s.put(t, "binary", "\x7fELF\x00\x01")
	for _, tt := range []struct{ args, want, err string }{
		{`{"path":"short"}`, "a\nb", ""},
		{`{"path":"short","offset":"2"}`, "b", ""},
		{`{"path":"short","offset":0,"limit":-3}`, "a\nb", ""},
		{`{"path":"short","offset":null,"limit":"1"}`, "a\n\n[Lines 1-1 of 2. Read on with offset=2]", ""},
		{`{"path":"short","offset":3}`, "", "offset 3 is beyond the end of the file, which has 2 lines"},
		{`{"path":"open"}`, "a\nb", ""},
		{`{"path":"dos"}`, "a\nb", ""},
		{`{"path":"empty"}`, "[the file is empty]", ""},
		{`{"path":"lines"}`, strings.TrimSuffix(numbered(1, 2000), "\n") + "\n\n[Lines 1-2000 of 5000. Read on with offset=2001]", ""},
		{`{"path":"lines","limit":9999}`, strings.TrimSuffix(numbered(1, 2000), "\n") + "\n\n[Lines 1-2000 of 5000. Read on with offset=2001]", ""},
		{`{"path":"lines","offset":4999}`, "line 4999\nline 5000", ""},
		{`{"path":"wide"}`, strings.TrimSuffix(strings.Repeat(strings.Repeat("w", 1023)+"\n", 50), "\n") + "\n\n[Lines 1-50 of 100. Read on with offset=51]", ""},
		{`{"path":"it's long"}`, "x\n\n[Lines 1-1 of 2. Read on with offset=2]", ""},
		{`{"path":"it's long","offset":2}`, `[Line 2 is 117.2 KB long, more than the limit of 50.0 KB. Use bash: sed -n 2p 'it'\''s long' | head -c 51200]`, ""},
		{`{"path":"latin1"}`, "caf\uFFFD", ""},
		{`{"path":"binary"}`, "[binary is a binary file of 6 bytes; look into it with bash: file, strings, xxd]", ""},
		{`{"path":"none"}`, "", "no such file or directory"},
	} {
		r, err := s.use(t, "read", tt.args)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", tt.args, err, tt.err)
		}
		if got := plain(r); got != tt.want {
			t.Errorf("%s:\n%.200q, want\n%.200q", tt.args, got, tt.want)
		}
	}
}

func TestReadOfAnImage(t *testing.T) {
	s := newShell(t)
	var shot, wide bytes.Buffer
	fatal(t, png.Encode(&shot, image.NewGray(image.Rect(0, 0, 4, 3))))
	fatal(t, png.Encode(&wide, image.NewGray(image.Rect(0, 0, 8001, 4))))
	s.put(t, "shot.png", shot.String())
	s.put(t, "misnamed.txt", shot.String())
	s.put(t, "wide.png", wide.String())
	s.put(t, "not.png", "hello\n")
	s.put(t, "damaged.png", shot.String()[:16])
	s.put(t, "large.gif", "GIF89a"+strings.Repeat("x", maxImageFile))
	s.put(t, "torn.webp", "RIFF\x10\x00\x00\x00WEBPVP8 \x04\x00\x00\x00abcd")

	r, err := s.use(t, "read", `{"path":"shot.png"}`)
	fatal(t, err)
	if want := fmt.Sprintf("Image shot.png (image/png, 4x3, %d bytes)", shot.Len()); len(r.Content) != 2 || plain(r) != want || r.Content[1].MimeType != "image/png" || r.Content[1].Data == "" {
		t.Errorf("%+v, want %s", r.Content, want)
	}
	if r, err := s.use(t, "read", `{"path":"misnamed.txt"}`); err != nil || len(r.Content) != 2 || r.Content[1].MimeType != "image/png" {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := s.use(t, "read", `{"path":"wide.png"}`); err != nil || len(r.Content) != 2 || !strings.Contains(plain(r), "image/png, 2000x1, ") {
		t.Errorf("%+v %v", r, err)
	}
	if r, err := s.use(t, "read", `{"path":"not.png"}`); err != nil || plain(r) != "hello" {
		t.Errorf("%+v %v", r, err)
	}
	for path, want := range map[string]string{
		"damaged.png": "cannot be shown: not a PNG",
		"torn.webp":   "cannot be shown: ",
		"large.gif":   "is larger than 32.0 MB",
	} {
		if _, err := s.use(t, "read", `{"path":"`+path+`"}`); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestAnExcerptIsWholeLinesWithinTheLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) string {
			s := rapid.SampledFrom([]string{"", "a", "\xff", "日本", "👩‍🚀"}).Draw(t, "unit")
			return strings.Repeat(s, rapid.SampledFrom([]int{1, 2, 1000, 20_000}).Draw(t, "times"))
		})
		all := rapid.SliceOfN(line, 0, 30).Draw(t, "lines")
		all = append(all, make([]string, rapid.SampledFrom([]int{0, 1990, 2500}).Draw(t, "empty lines"))...)
		content := strings.Join(all, "\n")
		if rapid.Bool().Draw(t, "ended") {
			content += "\n"
		}
		want := lines(content)
		offset, limit := rapid.IntRange(1, 30).Draw(t, "offset"), rapid.IntRange(1, 3000).Draw(t, "limit")
		e, err := readExcerpt(context.Background(), bufio.NewReaderSize(strings.NewReader(content), 4096), offset, limit)
		switch {
		case err != nil:
			t.Fatal(err)
		case e.total != len(want) || !e.all:
			t.Fatalf("counted %d lines, want %d", e.total, len(want))
		case len(e.text) > maxBytes || !utf8.ValidString(e.text):
			t.Fatalf("%d bytes", len(e.text))
		case e.last == 0:
			return
		}
		shown := want[offset-1 : e.last]
		if len(shown) > min(limit, maxLines) {
			t.Fatalf("%d lines", len(shown))
		}
		if got := strings.ToValidUTF8(strings.Join(shown, "\n"), "\uFFFD"); len(shown) < 3 && got != e.text && !strings.Contains(got, "\uFFFD") {
			t.Fatalf("%.80q, want %.80q", e.text, got)
		}
		if n := strings.Count(e.text, "\n") + 1; n != len(shown) {
			t.Fatalf("%d lines are shown and %d named", n, len(shown))
		}
	})
}

// endless is a file without an end, of one piece again and again.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

func TestReadEndsEvenIfTheFileDoesNot(t *testing.T) {
	e, err := readExcerpt(context.Background(), bufio.NewReader(endless(strings.Repeat("x", 1023)+"\n")), 1, 10)
	if err != nil || e.all || e.last != 10 {
		t.Errorf("%+v %v", e, err)
	}
	r, err := e.result("x", 1)
	if want := fmt.Sprintf("of more than %d.", e.total); err != nil || !strings.Contains(plain(r), want) {
		t.Errorf("%q %v", plain(r), err)
	}
	ctx, stop := stopping()
	stop(ErrStopped)
	if _, err := readExcerpt(ctx, bufio.NewReader(endless("x")), 1, 10); err != ErrStopped {
		t.Error(err)
	}
}
