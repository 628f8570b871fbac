package fs_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"mikan/fs"
)

// Writes split anywhere run the same lines as one write of the whole.
func TestCtlRunsTheSameLinesHoweverTheyAreSplit(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := []byte(strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z é\r]{0,12}`)).Draw(rt, "lines"), "\n"))
		var want []string
		for line := range strings.SplitSeq(string(whole), "\n") {
			if line = strings.TrimSuffix(line, "\r"); strings.TrimSpace(line) != "" {
				want = append(want, line)
			}
		}
		var got []string
		ctl := &fs.Ctl{Run: func(_ context.Context, _ *fs.Identity, line string) error {
			got = append(got, line)
			return nil
		}}
		h, err := ctl.Open(t.Context(), owner, fs.Write)
		ok(t, err)
		for rest := whole; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "n")
			took, err := h.(fs.Writer).Write(t.Context(), rest[:n], 12345)
			if took != n || err != nil {
				rt.Fatalf("took %d of %d, %v", took, n, err)
			}
			rest = rest[n:]
		}
		ok(t, h.Close())
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("ran %q; want %q", got, want)
		}
	})
}

func FuzzCtl(f *testing.F) {
	f.Add([]byte("one\ntwo"), []byte("three\n\x00\n"))
	f.Add([]byte("\xff\n"), bytes.Repeat([]byte("x"), 9000))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		ctl := &fs.Ctl{Run: func(_ context.Context, _ *fs.Identity, line string) error {
			if line == "" || len(line) > 8<<10 || !utf8.ValidString(line) || strings.ContainsAny(line, "\x00\n") {
				t.Errorf("ran %q", line)
			}
			return nil
		}}
		h, _ := ctl.Open(t.Context(), owner, fs.Write)
		for _, p := range [][]byte{a, b} {
			if n, err := h.(fs.Writer).Write(t.Context(), p, 0); err == nil && n != len(p) {
				t.Errorf("took %d of %d", n, len(p))
			}
		}
		h.Close()
	})
}

func TestCtlRefusesWhatIsNoText(t *testing.T) {
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"ctl": &fs.Ctl{
		Run: func(context.Context, *fs.Identity, string) error { return nil },
	}}}), owner)
	want(t, c.WriteFile(t.Context(), "ctl", []byte("a\x00b\n")), fs.Invalid)
	want(t, c.WriteFile(t.Context(), "ctl", []byte("a\xffb\n")), fs.Invalid)
	want(t, c.WriteFile(t.Context(), "ctl", bytes.Repeat([]byte("x"), 8<<10+1)), fs.TooBig)
	ok(t, c.WriteFile(t.Context(), "ctl", bytes.Repeat([]byte("x"), 8<<10)))
	ok(t, c.Change(t.Context(), "ctl", fs.Change{Size: new(int64)}))
}

func TestCommitOnCloseReportsTheError(t *testing.T) {
	v := text("one")
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{"v": v}})
	root := tree.Errstr()
	c := client(t, tree, owner)
	f, err := c.Open(t.Context(), "v", fs.Write|fs.Truncate)
	ok(t, err)
	_, err = f.Write([]byte("bad"))
	ok(t, err)
	want(t, f.Close(), fs.Invalid)
	info, err := root.(fs.Viewer).StatFor(t.Context(), owner)
	ok(t, err)
	if info.Size == 0 {
		t.Error("errstr knows nothing of it")
	}
}

func TestARefusedCommitIsNotTriedAgain(t *testing.T) {
	tries := 0
	v := &fs.Value{Set: func(context.Context, *fs.Identity, []byte) error {
		tries++
		return errors.New("no")
	}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"v": v}}), owner)
	f, err := c.Open(t.Context(), "v", fs.Write)
	ok(t, err)
	_, err = f.Write([]byte("x"))
	ok(t, err)
	want(t, f.Sync(t.Context()), fs.IO)
	ok(t, f.Sync(t.Context()))
	ok(t, f.Close())
	if tries != 1 {
		t.Errorf("%d tries", tries)
	}
}

func TestACommitIsNotCutShortByItsWritersSignal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	v := &fs.Value{Set: func(ctx context.Context, _ *fs.Identity, _ []byte) error {
		cancel()
		return ctx.Err()
	}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"v": v}}), owner)
	ok(t, c.WriteFile(ctx, "v", []byte("x")))
}

func TestAReadAfterAWriteCommitsAndShowsIt(t *testing.T) {
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("one")}}), owner)
	f, err := c.Open(t.Context(), "v", fs.Read|fs.Write)
	ok(t, err)
	defer f.Close()
	_, err = f.Write([]byte("ON"))
	ok(t, err)
	p := make([]byte, 10)
	if n, err := f.Read(p); string(p[:n]) != "e" || err != nil {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if got := read(t, c, "v"); got != "ONe" {
		t.Errorf("committed %q", got)
	}
}

func TestTruncatingAValueCutsOrExtendsIt(t *testing.T) {
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"v": text("content")}}), owner)
	for _, step := range []struct {
		size int64
		want string
	}{{4, "cont"}, {6, "cont\x00\x00"}, {0, "cont\x00\x00"}} {
		ok(t, c.Change(t.Context(), "v", fs.Change{Size: &step.size}))
		if got := read(t, c, "v"); got != step.want {
			t.Errorf("size %d: %q", step.size, got)
		}
	}
	big := int64(1 << 40)
	want(t, c.Change(t.Context(), "v", fs.Change{Size: &big}), fs.TooBig)
	f, err := c.Open(t.Context(), "v", fs.Write)
	ok(t, err)
	defer f.Close()
	want(t, f.Truncate(t.Context(), big), fs.TooBig)
}

func TestAskTakesTheNextBodyWhenTheAnswerIsRead(t *testing.T) {
	var number uint32
	stream := fs.NewStream()
	ask := &fs.Ask{Commit: func(context.Context, *fs.Identity, []byte) (*fs.Stream, uint32, error) {
		number++
		return stream, number, nil
	}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"ask": ask}}), owner)
	f, err := c.Open(t.Context(), "ask", fs.Read|fs.Write)
	ok(t, err)
	defer f.Close()
	_, err = f.Write([]byte("question"))
	ok(t, err)
	ok(t, f.Sync(t.Context()))
	info, err := f.Stat(t.Context())
	ok(t, err)
	if info.Version != 1 || info.Size != 0 || !info.Stream() {
		t.Errorf("info %+v", info)
	}
	_, err = f.Write([]byte("too early"))
	want(t, err, fs.Busy)
	stream.Append([]byte("par"))
	stream.End(errors.New("the model is gone"))
	p := make([]byte, 10)
	if n, err := f.Read(p); string(p[:n]) != "par" || err != nil {
		t.Errorf("read %q, %v", p[:n], err)
	}
	_, err = f.Read(p)
	want(t, err, fs.IO)
	_, err = f.Write([]byte("next"))
	ok(t, err)
	ok(t, f.Sync(t.Context()))
	if number != 2 {
		t.Errorf("%d bodies", number)
	}
}

func TestBodiesAreBounded(t *testing.T) {
	commits := 0
	body := &fs.Body{Max: 8, Commit: func(context.Context, *fs.Identity, []byte) error {
		commits++
		return nil
	}}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"body": body}}), owner)
	want(t, c.WriteFile(t.Context(), "body", []byte("nine char")), fs.TooBig)
	ok(t, c.WriteFile(t.Context(), "body", []byte("8 chars!")))
	if commits != 1 {
		t.Errorf("%d commits", commits)
	}
}

func TestASecretLosesOneNewline(t *testing.T) {
	var got string
	secret := &fs.Secret{Set: func(_ context.Context, _ *fs.Identity, data []byte) error {
		got = string(data)
		return nil
	}}
	root := &fs.Dir{Scratch: true, Children: map[string]fs.Node{"S": secret}}
	super := client(t, newTree(root), &fs.Identity{})
	ok(t, super.WriteFile(t.Context(), "S", []byte("value\n\n")))
	if got != "value\n" {
		t.Errorf("set %q", got)
	}
	for _, how := range []fs.Flags{fs.Read, fs.Read | fs.Write} {
		_, err := super.Open(t.Context(), "S", how)
		want(t, err, fs.Permission)
	}
	want(t, super.Rename(t.Context(), "S", "copy"), fs.Fixed)
}

// A long write arrives in pieces; the ones that fit are not what was meant.
func TestATextThatDidNotFitIsCommittedNeitherWholeNorInPart(t *testing.T) {
	var got []string
	set := func(_ context.Context, _ *fs.Identity, data []byte) error {
		got = append(got, string(data))
		return nil
	}
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{
		"value": &fs.Value{Max: 8, Set: set}, "body": &fs.Body{Max: 8, Commit: set},
	}}), owner)
	for _, name := range []string{"value", "body"} {
		f, err := c.Open(t.Context(), name, fs.Write|fs.Truncate)
		ok(t, err)
		_, err = f.Write([]byte("a part"))
		ok(t, err)
		_, err = f.Write([]byte("and more"))
		want(t, err, fs.TooBig)
		_, err = f.Write([]byte("x"))
		want(t, err, fs.TooBig)
		want(t, f.Sync(t.Context()), fs.TooBig)
		ok(t, f.Close())
		ok(t, c.WriteFile(t.Context(), name, []byte("fits")))
	}
	if strings.Join(got, "|") != "fits|fits" {
		t.Errorf("committed %q", got)
	}
}

// What follows a refusal on the same open file starts anew.
func TestAfterATooBigBodyTheNextIsTaken(t *testing.T) {
	var got string
	c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{
		"body": &fs.Body{Max: 8, Commit: func(_ context.Context, _ *fs.Identity, body []byte) error {
			got += string(body)
			return nil
		}},
	}}), owner)
	f, err := c.Open(t.Context(), "body", fs.Write)
	ok(t, err)
	_, err = f.Write([]byte("far too long"))
	want(t, err, fs.TooBig)
	want(t, f.Sync(t.Context()), fs.TooBig)
	_, err = f.Write([]byte("short"))
	ok(t, err)
	ok(t, f.Close())
	if got != "short" {
		t.Errorf("committed %q", got)
	}
}
