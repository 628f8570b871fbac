package e2e

import (
	"io"
	"strings"
	"testing"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/client"
)

// TestNineP_the_commands_do_what_the_mount_does has no mount at all.
func TestNineP_the_commands_do_what_the_mount_does(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	got := w.must(`
		mikan mkdir offices/local/demo
		mikan mkdir -p offices/local/demo
		mikan write offices/local/demo/ctl 'prompt $ echo one; echo two'
		mikan cat offices/local/demo/sessions/main/reply
		mikan mkdir offices/local/demo/sessions/aside
		printf 'several\n\nlines\n' | mikan write offices/local/demo/sessions/aside/prompt
		mikan cat offices/local/demo/wait offices/local/demo/sessions/aside/last | head -3
		echo '{}' | mikan write offices/local/demo/settings.json
		mikan ask demo '$ echo made > note; echo made'
		echo text | mikan write offices/local/demo/files/note
		mikan cat offices/local/demo/files/note
		mikan ls offices/local/demo/files offices/local/demo/sessions
		mikan rm offices/local/demo/files/note offices/local/demo/sessions/aside
		mikan ls offices/local/demo/sessions
		mikan ls -l offices/local/demo/ctl | cut -c1-10`)
	want(t, "output", got, "one\ntwo\ndemo: several\n\nlines\nmade\ntext\nlog.jsonl\nnote\nREADME\naside/\nmain/\nREADME\nmain/\n-rw-rw----\n")

	for _, c := range []struct{ script, why string }{
		{`mikan write offices/local/demo/ctl stpo`, "mean stop?"},
		{`echo '{"llm":{"thinkingLevel":"hgih"}}' | mikan write offices/local/demo/settings.json`, "settings.json:1: "},
		{`mikan mkdir offices/local/demo`, "exist"},
		{`mikan cat offices/local/nobody/log`, "nobody"},
		{`mikan rm offices/local/demo/sessions/main`, "main"},
		{`mikan rm offices/local/demo/log`, "log"},
	} {
		r := w.sh(c.script)
		if r.code != 1 {
			t.Errorf("%s: exit %d, want 1", c.script, r.code)
		}
		wantAll(t, c.script, r.err, "mikan: ", c.why)
	}
	want(t, "settings", w.get("offices/local/demo/settings.json"), "{}\n")
}

// TestNineP_a_foreign_client_prompts uses 9fans' client, which offers plain
// 9P2000 and so is given whole sentences.
func TestNineP_a_foreign_client_prompts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env = []string{"NAMESPACE=" + w.dir}
	w.serve9P()
	conn, err := client.Dial("unix", w.dir+"/mikan") // where Plan 9 programs look
	if err != nil {
		t.Fatal(err)
	}
	fsys, err := conn.Attach(nil, "glenda", "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := fsys.Create("offices/local/demo", plan9.OREAD, plan9.DMDIR|0o750)
	if err != nil {
		t.Fatal(err)
	}
	dir.Close()

	ctl, err := fsys.Open("offices/local/demo/ctl", plan9.OWRITE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ctl.Write([]byte("prompt $ echo hello\n")); err != nil {
		t.Fatal(err)
	}
	_, err = ctl.Write([]byte("stpo\n"))
	if err == nil {
		t.Fatal("a mistyped verb was taken")
	}
	wantAll(t, "error", err.Error(), "unknown verb", "mean stop?")
	ctl.Close()
	want(t, "reply", readAll(t, fsys, "offices/local/demo/sessions/main/reply"), "hello\n")

	ask, err := fsys.Open("offices/local/demo/ask", plan9.ORDWR)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask.Write([]byte("$ echo asked")); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(ask)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "answer", string(answer), "asked\n")
	ask.Close()
	if n := strings.Count(readAll(t, fsys, "offices/local/demo/log"), "\n"); n != 4 {
		t.Errorf("%d records in the log, want 4", n)
	}
	if err := fsys.Remove("offices/local/demo"); err != nil {
		t.Error(err)
	}
	if _, err := fsys.Stat("offices/local/demo"); err == nil {
		t.Error("the archived office is still there")
	}
}

func readAll(t *testing.T, fsys *client.Fsys, path string) string {
	t.Helper()
	f, err := fsys.Open(path, plan9.OREAD)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestNineP_mikan_mount_gives_the_same_tree mounts a daemon that has no mount.
func TestNineP_mikan_mount_gives_the_same_tree(t *testing.T) {
	t.Parallel()
	needsMount(t)
	w := newWorld(t)
	w.serve9P()
	mount := w.start(`exec mikan mount $M`)
	wantAll(t, "mount", mount.line(), "is mounted on "+w.mount)
	got := w.must(`mkdir $D; cd $D; echo 'prompt $ echo hello' > ctl; cat sessions/main/reply
		exec 3<>ask; echo '$ echo asked' >&3; cat <&3; exec 3>&-`)
	want(t, "output", got, "hello\nasked\n")
	for _, file := range []string{"README", "models", "settings.json", "offices/local/demo/log", "offices/local/demo/status", "offices/local/demo/sessions/main/transcript"} {
		want(t, file, w.must(`cat $M/`+file), w.get(file))
	}
	r := w.sh(`echo stpo > $D/ctl || { cat $M/errstr; exit 1; }`)
	wantAll(t, "mistyped", r.err, "Invalid argument")
	wantAll(t, "errstr", r.out, "mean stop?")
	want(t, "listing", w.must(`ls -A $D`), w.must(`mikan ls offices/local/demo | tr -d /`))

	reader := w.start(`echo reading; exec cat $D/feed`)
	reader.line()
	if err := mount.cmd.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	if lines := mount.rest(); len(lines) > 0 {
		t.Errorf("mount says %q", lines)
	}
	reader.rest()
	if w.mounted() {
		t.Error("it is still mounted")
	}
}
