package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestStart_a_malformed_file_stops_it_and_is_left_alone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, text, why string }{
		{"settings.json", "{\n  \"llm\": {\n    \"provider\": \"demo\"\n    \"model\": \"echo\"\n}}", ":4: "},
		{"settings.json", "{\n  \"lmm\": {}\n}", ":2: unknown key lmm (did you mean llm?)"},
		{"settings.json", "{\"llm\": {\"provider\": \"demo\",\n\"model\": \"ecko\"}}", ":2: llm.model: "},
		{"settings.json", "{\"llm\": {\"provider\": \"demo\",\n\"model\": \"ecko\"}}", "did you mean echo?"},
		{"settings.json", "{\"llm\": {\"provider\": \"dmeo\",\n\"model\": \"echo\"}}", "did you mean demo"},
		{"settings.json", "", ":1: the file is empty"},
		{"settings.json", "\xff\xfe{}", ":1: "},
		{"models.json", "{\"providers\": {\n\"lab\": {\n\"baseUrl\": 5}}}", ":3: "},
		{"models.json", "{\"providers\": {\"lab\": {\"baseUrl\": \"http://lab/v1\",\n\"api\": \"openai-completion\"}}}", ":2: unknown api \"openai-completion\" (did you mean openai-completions?)"},
		{"auth.json", "{\n\"anthropic\": {\"type\": \"api_key\", \"key\": \"sk-canary\"\n", ":"},
		{"auth.json", "{\n\"anthropic\": {\"type\": \"apikey\", \"key\": \"sk-canary\"}}", ":2: "},
		{"office-registry.json", "{\"version\": 1,\n\"offices\": [{\"platform\": 1}]}", ":2: "},
		{"migrations.json", "[]", "migrations.json: "},
	} {
		w := newWorld(t)
		path := w.state + "/" + c.file
		w.write(path, c.text)
		said := w.refused()
		// slog's text escapes quotes; what is printed at the end does not.
		wantAll(t, c.file, said, "mikan: ", path, c.why)
		if strings.Contains(said, "sk-canary") {
			t.Errorf("the error shows the key: %s", said)
		}
		want(t, c.file, w.read(path), c.text)
		w.write(path, demoSettings)
		if c.file != "settings.json" {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		d := w.serve9P() // corrected, it starts
		d.kill9()
	}
}

func TestStart_a_model_nobody_knows_is_named_with_the_nearest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	w.mikan("mkdir", "offices/local/demo").ok(t)
	for _, c := range []struct{ ref, why string }{
		{"demo/ecko", "did you mean echo?"},
		{"dmeo/echo", "did you mean demo"},
	} {
		for _, ctl := range []string{"offices/local/demo/ctl", "offices/local/demo/sessions/main/ctl"} {
			r := w.mikan("write", ctl, "model "+c.ref)
			if r.code != 1 {
				t.Errorf("model %s at %s: exit %d, want 1", c.ref, ctl, r.code)
			}
			wantAll(t, "model "+c.ref, r.err, c.why)
		}
	}
	want(t, "model", w.status("offices/local/demo/status", "model"), "demo/echo")
	want(t, "settings", w.get("offices/local/demo/settings.json"), "{}\n")
}

func TestStart_a_second_daemon_is_told_the_pid_of_the_first(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve9P()
	wantAll(t, "second", w.refused(), w.state, "a daemon with pid "+strconv.Itoa(d.cmd.Process.Pid)+" has it")
	w.mikan("ls").ok(t) // the first goes on
	d.kill9()
	w.serve9P()
	w.mikan("ls").ok(t)
}

func TestStart_is_refused_and_says_what_to_do(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		setup func(w *world) (args []string)
		why   string
	}{
		{"unknown sandbox", func(*world) []string { return []string{"--sandbox", "docker"} }, "--sandbox host"},
		{"workspace inside the state directory", func(w *world) []string { return []string{"--workspace", w.state + "/work"} }, "neither may lie inside the other"},
		{"state directory inside the workspace", func(w *world) []string { return []string{"--workspace", w.dir} }, "neither may lie inside the other"},
		{"workspace is a link into the state directory", func(w *world) []string {
			if err := os.Symlink(w.state, w.workspace); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "neither may lie inside the other"},
		{"writable for all", func(w *world) []string {
			if err := os.Chmod(w.state, 0o777); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "chmod 0700"},
		{"original log", func(w *world) []string { w.write(w.workspace+"/C0123456789/log.jsonl", "{}\n"); return nil }, "mikan migrate"},
		{"original sessions", func(w *world) []string { w.write(w.workspace+"/5/sessions/x.jsonl", "{}\n"); return nil }, "mikan migrate"},
		{"original database", func(w *world) []string {
			w.write(w.state+"/conversations/v1-slack-c0-0123456789abcdef/sessions.db", strings.Repeat("SQLite of another", 512))
			return nil
		}, "mikan migrate"},
		{"original migrations", func(w *world) []string {
			w.write(w.state+"/migrations.json", `{"applied":[{"id":"0001-offices","appliedAt":"2025-01-01T00:00:00Z"}]}`)
			return nil
		}, "mikan migrate"},
		{"bad socket mode", func(*world) []string { return []string{"--socket-mode", "rw"} }, "0660"},
		{"mount on a full directory", func(w *world) []string {
			needsMount(t)
			w.write(w.mount+"/here", "")
			return []string{"--mount", w.mount}
		}, "not empty"},
		{"settings are a link", func(w *world) []string {
			if err := os.Rename(w.state+"/settings.json", w.dir+"/elsewhere"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(w.dir+"/elsewhere", w.state+"/settings.json"); err != nil {
				t.Fatal(err)
			}
			return nil
		}, "symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			wantAll(t, "error", w.refused(c.setup(w)...), "mikan: ", c.why)
		})
	}
	t.Run("no sandbox", func(t *testing.T) {
		w := newWorld(t)
		cmd := w.serveCommand()
		cmd.Args = cmd.Args[:len(cmd.Args)-2]
		wantAll(t, "error", refusal(w, cmd), "--sandbox host")
		if entries, err := os.ReadDir(w.state); err != nil || len(entries) != 1 {
			t.Errorf("a refused start made %v, %v", entries, err)
		}
	})
}

// TestDisk_full_fails_the_write_and_keeps_the_old has the state directory and
// the workspace on file systems that fill up.
func TestDisk_full_fails_the_write_and_keeps_the_old(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needsMount(t)
	w := newWorld(t)
	for _, dir := range []string{w.state, w.workspace} {
		w.tmpfs(dir, 4<<20)
	}
	w.write(w.state+"/settings.json", demoSettings)
	w.serve()
	w.must(`mkdir $D; cd $D; mkdir sessions/other; echo '{"llm":{"provider":"demo","model":"echo","thinkingLevel":"low"}}' | cat > $M/settings.json
		echo 'prompt $ until test -e go; do sleep 0.02; done; echo settled later' > sessions/other/ctl
		mikan ask demo hello; echo old > files/note`)
	kept := `cd $D; cat $M/settings.json log sessions/main/transcript sessions/main/last; test "$(cat files/note)" = old`
	before := w.must(kept)

	w.must(`cat /dev/zero > ` + w.state + `/filler || true; cat /dev/zero > ` + w.workspace + `/filler || true`)
	for _, script := range []string{
		`head -c 100000 /dev/zero | tr '\0' ' ' > $T/new; sed s/low/high/ $M/settings.json >> $T/new; cp $T/new $M/settings.json`,
		`head -c 60000 /dev/zero | tr '\0' x > $T/long; cat $T/long > $D/sessions/main/prompt`,
		`mkdir $M/offices/local/new`,
		`head -c 60000 /dev/zero > $D/files/big`,
	} {
		r := w.sh(script + ` || { cat $M/errstr; exit 1; }`)
		if r.code == 0 {
			t.Errorf("%s: it succeeded on a full disk", script)
		}
		if !strings.Contains(r.err, "No space left") && !strings.Contains(r.err, "Input/output error") {
			t.Errorf("%s: %q %q: want ENOSPC or EIO", script, r.err, r.out)
		}
		t.Logf("%.40s…: %s %s", script, strings.TrimSpace(r.err), strings.TrimSpace(r.out))
	}
	want(t, "what was there", w.must(kept), before)
	w.must(`rm -f $D/files/big`)

	w.must(`rm ` + w.state + `/filler ` + w.workspace + `/filler; touch $D/files/go`)
	want(t, "the run that went on meanwhile", w.must(`cat $D/sessions/other/reply`), "settled later\n")
	want(t, "a new prompt", w.must(`mikan ask demo '$ echo on'; cat $D/wait`), "on\n")
	w.must(`mkdir $M/offices/local/new; cp $T/new $M/settings.json; grep -qx 'thinking high' $D/status; echo new > $D/files/note`)
}

// tmpfs mounts an empty file system of a size for the length of the test.
func (w *world) tmpfs(dir string, size int) {
	w.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.Fatal(err)
	}
	w.run("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d,mode=700", size), "tmpfs", dir).ok(w)
	w.Cleanup(func() { w.run("umount", "-l", dir) })
}
