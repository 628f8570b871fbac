package e2e

import (
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDrain_lets_what_runs_end has a run that ends after the signal, one that waits,
// and a prompt that comes too late.
func TestDrain_lets_what_runs_end(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve("--drain", "30s")
	w.must(`mkdir $D; cd $D; echo 'prompt $ touch begun; until test -e go; do sleep 0.02; done; echo first' > ctl; echo 'prompt $ echo second' > ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
	reply := w.start(`echo reading; exec cat $D/sessions/main/wait`)
	reply.line()
	d.signal(syscall.SIGTERM)
	eventually(t, "a refusal", func() bool { return w.sh(`echo 'prompt late' > $D/ctl`).code != 0 })
	w.must(`touch $D/files/go`)
	if code := d.exit(); code != 0 {
		t.Errorf("exit %d, want 0: %s", code, d.stderr)
	}
	wantAll(t, "standard error", d.stderr.String(), "mikan: ending; local/demo/sessions/main may go on for 30s; a second signal ends it now\n")
	if w.mounted() {
		t.Error("the mount is still there")
	}
	w.serve()
	want(t, "answers", w.must(`cd $D; cat wait; jq -r 'select(.user=="bot").text' log`), "first\nsecond\n")
}

func TestDrain_ends_in_time(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve("--drain", "200ms")
	w.must(`mkdir $D; echo 'prompt $ touch begun; sleep 600' > $D/ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
	if code := d.term(); code != 1 {
		t.Errorf("exit %d, want 1: %s", code, d.stderr)
	}
	wantAll(t, "standard error", d.stderr.String(), "mikan: graceful shutdown failed: interrupted local/demo/sessions/main, which had not ended within 200ms\n")
	if w.mounted() {
		t.Error("the mount is still there")
	}
	d = w.serve()
	want(t, "last", w.status("offices/local/demo/status", "last"), "interrupted")
	if code := d.term(); code != 0 {
		t.Errorf("an idle daemon: exit %d: %s", code, d.stderr)
	}
}

// A second signal ends the waiting, not the order: the run is interrupted, and the
// mount is not left behind, though somebody stands in it.
func TestDrain_a_second_signal_ends_it_now(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"a signal", "ctl"} {
		w := newWorld(t)
		d := w.serve("--drain", "10m")
		w.must(`mkdir $D; echo 'prompt $ touch begun; sleep 600' > $D/ctl`)
		eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
		inside := w.start(`cd $D/files; echo here; exec sleep 60`)
		inside.line()
		if first == "ctl" {
			w.must(`echo shutdown > $M/ctl`)
		} else {
			d.signal(syscall.SIGINT)
		}
		eventually(t, "the notice", func() bool { return strings.Contains(d.stderr.String(), "a second signal ends it now") })
		began := time.Now()
		d.signal(syscall.SIGTERM)
		d.signal(syscall.SIGINT)
		if code := d.exit(); code != 1 {
			t.Errorf("after %s: exit %d, want 1: %s", first, code, d.stderr)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("after %s: it took %v", first, took)
		}
		wantAll(t, "standard error", d.stderr.String(), "graceful shutdown failed: interrupted local/demo/sessions/main\n", "a signal asked for the end at once\n")
		if w.mounted() {
			t.Errorf("after %s: the mount is still there", first)
		}
		d = w.serve9P()
		want(t, "last", w.status("offices/local/demo/status", "last"), "interrupted")
	}
}

func TestAsk_over_budget_exits_4(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D; echo '{"budget": {"calls": 2}}' > $D/settings.json`)
	r := w.mikan("ask", "demo", "$ echo one\n$ echo two\n$ echo three")
	if r.code != 4 || !strings.Contains(r.err, "2 LLM calls >= 2 limit") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	r = w.mikan("ask", "--json", "demo", "$ echo one\n$ echo two\n$ echo three")
	wantAll(t, "events", r.out, `"type":"budget_exceeded","error":"2 LLM calls \u003e= 2 limit","budget":{"reason":"2 LLM calls \u003e= 2 limit","tokens":`, `"llmCalls":2,"durationMs":`)
	wantAll(t, "status", w.must(`cat $D/status`), "last budget\nerror 2 LLM calls >= 2 limit\n")
	wantAll(t, "log", w.must(`jq -r .text $D/log`), "[budget: 2 LLM calls >= 2 limit]\n")
	wantAll(t, "usage", w.must(`grep '^last ' $D/usage`), " calls 2\n")
	r = w.sh(`echo '{"budget": {"calls": 0}}' | cp /dev/stdin $D/settings.json; cat $M/errstr`)
	wantAll(t, "errstr", r.out, "settings.json:1: budget.calls: want a number above 0; leave it out for no limit")
}

// With queue.mode refuse a writer sees EBUSY, on both fronts.
func TestQueue_mode_refuse_is_seen_by_the_writer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D; echo '{"queue": {"mode": "refuse"}}' > $D/settings.json
		cd $D; echo 'prompt $ touch begun; until test -e go; do sleep 0.02; done; echo first' > ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
	for _, script := range []string{`echo 'prompt second' > $D/ctl`, `echo second | cat > $D/sessions/main/prompt`, `mikan write offices/local/demo/sessions/main/prompt second`} {
		r := w.sh(script + ` || { cat $M/errstr; exit 1; }`)
		if r.code == 0 {
			t.Errorf("%s: it was taken", script)
		}
		wantAll(t, script, r.err+r.out, "the session main is at work, and queue.mode is refuse")
	}
	if r := w.mikan("ask", "demo", "second"); r.code != 5 {
		t.Errorf("ask: exit %d, want 5: %s", r.code, r.err)
	}
	w.must(`cd $D; touch files/go; cat wait; ! grep -q second log`)
}

// Whoever read what the daemon says is gone, as tee is after Ctrl-C, and so may the
// terminal be: the end is the same.
func TestDrain_outlives_the_reader_and_the_terminal(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if s == syscall.SIGHUP && signal.Ignored(s) {
			continue // under nohup the daemon ignores it, too
		}
		w := newWorld(t)
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd := w.serveCommand("--mount", w.mount, "--drain", "30s")
		cmd.Stderr = in
		needsMount(w)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in.Close()
		eventually(t, "the mount", func() bool { return w.sh(`test -d $M/offices`).code == 0 })
		w.must(`mkdir $D; echo 'prompt $ touch begun; until test -e go; do sleep 0.02; done; echo done' > $D/ctl`)
		eventually(t, "the command runs", func() bool { return w.sh(`test -e $D/files/begun`).code == 0 })
		out.Close()
		cmd.Process.Signal(s)
		eventually(t, "a refusal", func() bool { return w.sh(`echo 'prompt late' > $D/ctl`).code != 0 })
		w.must(`touch $D/files/go`)
		if err := cmd.Wait(); err != nil {
			t.Errorf("after %v: %v", s, err)
		}
		if w.mounted() {
			t.Errorf("after %v: the mount is still there", s)
		}
	}
}

// A start that is broken off is no failure.
func TestDrain_of_a_daemon_that_starts(t *testing.T) {
	t.Parallel()
	for range 5 {
		w := newWorld(t)
		var said tail
		cmd := w.serveCommand("--mount", w.mount)
		cmd.Stderr = &said
		needsMount(w)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "its log", func() bool { _, err := os.Stat(w.state + "/log.jsonl"); return err == nil })
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil || w.mounted() {
			t.Errorf("%v, mounted %v: %s", err, w.mounted(), &said)
		}
	}
}
