package e2e

import (
	"fmt"
	"os"
	"testing"
	"time"

	"mikan/harness/modeltest"
)

// TestEnd_SIGTERM_interrupts_wakes_and_unmounts has runs in a command and in a
// model request, a queue, and readers blocked on both fronts.
func TestEnd_SIGTERM_interrupts_wakes_and_unmounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := modeltest.NewOpenAI(t,
		modeltest.Turn{Calls: []modeltest.Call{{ID: "call_1", Name: "bash", Arguments: `{"label":"l","command":"trap '' TERM; echo began > began; sleep 600"}`}}},
		modeltest.Turn{Hang: true},
		modeltest.Turn{Text: "After the restart."},
	)
	w.useModel(model)
	d := w.serve()
	w.must(`mkdir $D; mkdir $D/sessions/other; echo 'prompt run a command' > $D/ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -s $D/files/began`).code == 0 })
	w.must(`echo 'prompt hang' > $D/sessions/other/ctl`)
	<-model.Hung()
	w.must(`echo 'prompt wait in the queue' > $D/ctl`)

	readers := map[string]*background{}
	for _, script := range []string{
		`exec cat $M/feed > /dev/null`, `exec cat $D/sessions/main/wait`, `exec cat $D/sessions/other/reply`, `exec tail -f $D/log > /dev/null`,
		`exec mikan cat offices/local/demo/feed > /dev/null`, `exec mikan cat offices/local/demo/wait`, `exec mikan ask --session other demo later`,
	} {
		readers[script] = w.start(`echo reading; ` + script)
		readers[script].line()
	}
	eventually(t, "ask has queued its prompt", func() bool { return w.status("offices/local/demo/sessions/other/status", "queued") == "1" })

	began := time.Now()
	if code := d.term(); code != 0 {
		t.Errorf("exit %d, want 0: %s", code, d.stderr)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the end took %v", took)
	}
	if w.mounted() {
		t.Error("the mount is still there")
	}
	for script, r := range readers {
		if script == `exec tail -f $D/log > /dev/null` {
			continue // it polls a path that is gone, as tail does
		}
		if lines := r.rest(); len(lines) > 0 {
			t.Errorf("%s: got %q", script, lines)
		}
	}
	within(t, 5*time.Second, "no command is left", func() bool { return len(processes(t, "echo began > began")) == 0 })

	model.Then(modeltest.Turn{Text: "After the restart, too."})
	w.serve()
	w.must(`cat $D/wait`)
	wantAll(t, "log", w.must(`jq -r .text $D/log`), "run a command\nhang\nwait in the queue\nlater\n", "[interrupted: the daemon ended while it ran]\n", "After the restart.\n", "After the restart, too.\n")
	checkTranscript(t, w.must(`cat $D/sessions/main/transcript`))
	checkTranscript(t, w.must(`cat $D/sessions/other/transcript`))
	for _, refused := range model.Refusals() {
		t.Error("the model refused:", refused)
	}
}

func TestEnd_shutdown_in_ctl_ends_the_daemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve()
	w.must(`mkdir $D; echo 'prompt $ touch begun; sleep 600' > $D/ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
	w.must(`echo shutdown > $M/ctl`)
	if code := d.exit(); code != 0 {
		t.Errorf("exit %d, want 0: %s", code, d.stderr)
	}
	if w.mounted() {
		t.Error("the mount is still there")
	}
	d = w.serve9P()
	want(t, "last", w.status("offices/local/demo/status", "last"), "interrupted")
	w.mikan("write", "ctl", "shutdown").ok(t)
	if code := d.exit(); code != 0 {
		t.Errorf("exit %d, want 0: %s", code, d.stderr)
	}
}

func TestEnd_drain_takes_nothing_new_and_finishes_the_rest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D; cd $D; echo 'prompt $ until test -e go; do sleep 0.02; done; echo first' > ctl; echo 'prompt $ echo second' > ctl
		echo drain > $M/ctl`)
	for _, script := range []string{`echo 'prompt third' > $D/ctl`, `echo third | cat > $D/sessions/main/prompt`, `mkdir $M/offices/local/new`} {
		r := w.sh(script + ` || { cat $M/errstr; exit 1; }`)
		wantAll(t, script, r.err+r.out, "Resource temporarily unavailable", "draining")
	}
	if r := w.mikan("ask", "demo", "third"); r.code != 5 {
		t.Errorf("ask: exit %d, want 5", r.code)
	}
	wantAll(t, "status", w.must(`cat $M/status`), "refusing the daemon is draining")
	want(t, "answers", w.must(`cd $D; touch files/go; cat wait; jq -r 'select(.user=="bot").text' log`), "first\nsecond\n")
	want(t, "running", w.status("status", "running"), "0")
}

func TestReload_a_bad_file_is_an_error_and_the_old_one_stays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := modeltest.NewOpenAI(t, modeltest.Turn{Text: "One."}, modeltest.Turn{Text: "Two."})
	w.useModel(model)
	w.serve()
	w.must(`mkdir $D`)
	before := w.must(`cat $M/models`)
	wantAll(t, "models", before, "lab/m ctx=", " ready\n")
	for _, c := range []struct{ file, text, why string }{
		{"models.json", "{\n\"providers\": {\n\"lab\": {\"baseUrl\": \"nowhere\"}}}", "models.json:3: "},
		{"models.json", "{", "models.json:1: "},
		{"auth.json", "{\n\"lab\": 5}", "auth.json:2: "},
		{"settings.json", "{\n\"llm\": {\"provider\": \"lab\",\n\"model\": \"n\"}}", "settings.json:3: "},
	} {
		path := w.state + "/" + c.file
		old, err := os.ReadFile(path)
		w.write(path, c.text)
		r := w.sh(`echo reload > $M/ctl || { cat $M/errstr; exit 1; }`)
		wantAll(t, c.file, r.err+r.out, "Invalid argument", c.why, "stays in force")
		want(t, c.file, w.read(path), c.text)
		want(t, "models", w.must(`cat $M/models`), before)
		if err == nil {
			w.write(path, string(old))
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	want(t, "answer", w.must(`mikan ask demo hello`), "One.\n")

	w.write(w.state+"/models.json", fmt.Sprintf(`{"providers":{"lab":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m"},{"id":"n"}]}}}`, model.URL))
	w.must(`echo reload > $M/ctl; grep -q '^lab/n ' $M/models; echo 'model lab/n' > $D/ctl; grep -qx 'model lab/n' $D/status`)
	want(t, "answer", w.must(`mikan ask demo hello`), "Two.\n")
}

func TestDebug_on_logs_more(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	r := w.sh(`echo debug on > $M/ctl; echo debug off > $M/ctl; echo debug maybe > $M/ctl || { cat $M/errstr; exit 1; }`)
	wantAll(t, "debug maybe", r.out, "usage: debug on|off")
	if r.code != 1 {
		t.Errorf("exit %d, want 1", r.code)
	}
	wantAll(t, "log", w.must(`jq -r .msg $M/log; cat $M/log`), "ready\n", `"model":"demo/echo"`)
}
