package fs_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"mikan/fs"
)

func TestLinesAreReadAsTheyAreWritten(t *testing.T) {
	request := fs.RequestLine{Tag: 7, JSON: json.RawMessage(`{"a":1,"body":".body/7"}`)}
	got, err := fs.ParseRequestLine(request.Append(nil))
	ok(t, err)
	if got.Tag != 7 || string(got.JSON) != string(request.JSON) || !got.HasBody() {
		t.Errorf("request %+v", got)
	}
	for text, want := range map[string]fs.AnswerLine{
		"7 allow\n":            {Tag: 7, Verb: "allow"},
		"7  deny  not here \r": {Tag: 7, Verb: "deny", Rest: "not here"},
		"7 ok {\"a\": 1}":      {Tag: 7, Verb: "ok", Rest: `{"a": 1}`},
		"7 deny caf\xe9":       {Tag: 7, Verb: "deny", Rest: "caf\uFFFD"},
	} {
		got, err := fs.ParseAnswerLine([]byte(text))
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	lines := fs.AnswerLine{Tag: 7, Verb: "deny", Rest: "two\nlines"}
	if got := string(lines.Append(nil)); got != "7 deny two lines\n" {
		t.Errorf("answer %q", got)
	}
}

func TestOnlyTheNameOfItsOwnBodyIsABody(t *testing.T) {
	for _, text := range []string{`{}`, `[]`, `{"body":"x"}`, `{"body":".body/8"}`, `{"body":null}`, `{"body":"../.body/7"}`} {
		line, err := fs.ParseRequestLine([]byte("7 " + text))
		ok(t, err)
		if line.HasBody() {
			t.Errorf("%s has a body", text)
		}
	}
}

func TestAQuestionIsItsOwnLineIfItFits(t *testing.T) {
	short := json.RawMessage(`{"content":"short"}`)
	if q := fs.NewQuestion(short, nil); q.Body != nil || string(q.Line) != string(short) {
		t.Errorf("question %+v", q)
	}
	long := json.RawMessage(`"` + strings.Repeat("x", fs.MaxRequestLine) + `"`)
	if q := fs.NewQuestion(long, short); string(q.Body) != string(long) || string(q.Line) != string(short) {
		t.Errorf("question %+v", q)
	}
}

func FuzzParseAnswerLine(f *testing.F) {
	for _, text := range []string{"1 allow\n", "2 deny no\r\n", "3 replace {\"a\":1}", "18446744073709551616 ok", "-1 ok", " 1  ok ", "1 \xff x", ""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		a, err := fs.ParseAnswerLine(line)
		if err != nil {
			want(t, err, fs.Invalid)
			return
		}
		if a.Verb == "" || !utf8.ValidString(a.Verb+a.Rest) || strings.ContainsAny(a.Verb+a.Rest, "\n") {
			t.Errorf("%q: %+v", line, a)
		}
		again, err := fs.ParseAnswerLine(a.Append(nil))
		if err != nil || again != a {
			t.Errorf("%q: %+v, and again %+v, %v", line, a, again, err)
		}
	})
}

func FuzzParseRequestLine(f *testing.F) {
	for _, text := range []string{"1 {}\n", "2 {\"body\":\".body/2\"}", "3", "x {}", "4 {\"body\":\"/etc/passwd\"}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := fs.ParseRequestLine(line)
		if err != nil {
			want(t, err, fs.Invalid)
			return
		}
		again, err := fs.ParseRequestLine(r.Append(nil))
		if err != nil || again.Tag != r.Tag || !bytes.Equal(again.JSON, r.JSON) || again.HasBody() != r.HasBody() {
			t.Errorf("%q: %+v, and again %+v, %v", line, r, again, err)
		}
	})
}

// Whatever is written to a service file, it neither panics nor settles more than
// what was asked, and stays in use.
func FuzzService(f *testing.F) {
	f.Add([]byte("1 allow\n1 deny\n2 "), []byte("replace {}\n\n"))
	f.Add([]byte("1 replace {\"a\":"), []byte("1}\nx\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := newDesk(t)
		file := d.open()
		done := d.ask(t.Context(), line(`{}`))
		next(t, file)
		for _, p := range [][]byte{a, b} {
			if n, err := file.Write(p); err == nil && n != len(p) {
				t.Errorf("took %d of %d", n, len(p))
			}
		}
		file.Close()
		if r := <-done; r.err == nil && r.Verb == "replace" && !json.Valid(r.JSON) {
			t.Errorf("answer %+v", r)
		}
	})
}
