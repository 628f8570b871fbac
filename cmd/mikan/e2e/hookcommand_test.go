package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// command serves a hook of the office with a command.
func (w *world) hook(hook, command string) *background {
	w.Helper()
	return w.listen(hook, `exec mikan hook demo/`+hook+` -- `+command)
}

func TestHookCommand_the_exit_status_is_the_verdict(t *testing.T) {
	w := hooksWorld(t)
	w.must(`echo 'timeout tool_call 600ms' > $D/hooks/ctl`)
	for _, c := range []struct{ command, optional, required string }{
		{`true`, "went on\n", "went on\n"},
		{`jq -c '{args: (.args | .command |= sub("went"; "came"))}'`, "came on\n", "came on\n"},
		{`sh -c 'echo not on; echo my watch; cat > /dev/null; echo no >&2; echo luck >&2; exit 2'`, "refused: no luck", "refused: no luck"},
		{`sh -c 'exit 2'`, "refused: a hook gave no reason", "refused: a hook gave no reason"},
		{`sh -c 'exit 1'`, "went on\n", "refused: the hook tool_call must answer"},
		{`sh -c 'kill -9 $$'`, "went on\n", "refused: the hook tool_call must answer"},
		{`echo nonsense`, "went on\n", "refused: the hook tool_call must answer"},
		{`/nowhere/to/be/found`, "went on\n", "refused: the hook tool_call must answer"},
	} {
		b := w.hook("tool_call", c.command)
		for _, prompt := range []string{"$ echo went on", "$ echo went on # " + long} {
			for policy, answer := range map[string]string{"optional": c.optional, "require": c.required} {
				w.must(`echo '` + policy + ` tool_call' > $D/hooks/ctl`)
				got := w.ask(prompt)
				if got != answer && !(strings.HasPrefix(answer, "refused") && strings.Contains(got, answer)) {
					t.Errorf("%s, %s: the answer to %.20q is %.200q; want %q", c.command, policy, prompt, got, answer)
				}
			}
		}
		b.kill()
		w.listeners("tool_call", 0)
	}
}

// TestHookCommand_needs_no_mount also changes results by commands.
func TestHookCommand_needs_no_mount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	w.must(`mikan mkdir offices/local/demo`)
	b := w.start(`exec mikan hook local/demo/tool_result -- sed -E 's/AKIA[0-9A-Z]{16}/[redacted]/g'`)
	w.listeners("tool_result", 1)
	want(t, "short", w.ask("$ "+makesKey), "[redacted]\n")
	wantAll(t, "long", w.ask("$ seq 3000; "+makesKey), "3000\n[redacted]\n")
	if err := b.cmd.Process.Signal(interrupt); err != nil {
		t.Fatal(err)
	}
	if lines := b.rest(); len(lines) > 0 || b.err.String() != "" {
		t.Errorf("the end says %q, %s", lines, &b.err)
	}
	w.listeners("tool_result", 0)
	for _, name := range []string{"demo/tool_cal", "demo", "nowhere/tool_call"} {
		if r := w.mikan("hook", name, "--", "true"); r.code == 0 || !strings.HasPrefix(r.err, "mikan: ") {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		}
	}
}

// What hangs is killed, with all that it has started, when the daemon no longer
// waits for it; the next question is asked.
func TestHookCommand_that_hangs_is_killed_when_its_time_is_over(t *testing.T) {
	w := hooksWorld(t)
	mark := "sleep 31" + strings.TrimPrefix(w.dir, "/tmp/TestHookCommand_that_hangs_is_killed_when_its_time_is_over")
	w.write(w.dir+"/hang", `if test -e `+w.dir+`/begun; then exit 0; fi; touch `+w.dir+`/begun
(exec -a '`+mark+`' sleep 1000) & (exec -a '`+mark+`' sleep 1000); exit 2`)
	w.must(`echo 'timeout tool_call 500ms' > $D/hooks/ctl`)
	b := w.hook("tool_call", `bash $T/hang`)
	want(t, "answer", w.ask("$ echo went on"), "went on\n")
	eventually(t, "the command is gone", func() bool { return len(processes(t, mark)) == 0 })
	eventually(t, "the program says why", func() bool { return strings.Contains(b.err.String(), "the question was settled") })
	w.must(`echo 'require tool_call' > $D/hooks/ctl`)
	want(t, "the next question", w.ask("$ echo went on"), "went on\n")

	// And at the end of the program, or of the run.
	w.must(`rm $T/begun; echo 'timeout tool_call 10m' > $D/hooks/ctl`)
	for _, end := range []func(){
		func() { w.must(`echo stop > $D/ctl`) },
		func() { _ = b.cmd.Process.Signal(syscall.SIGTERM) },
	} {
		w.must(`rm -f $T/begun; echo 'prompt $ echo went on' > $D/ctl`)
		eventually(t, "the command runs", func() bool { return len(processes(t, mark)) == 2 })
		end()
		eventually(t, "the command is gone", func() bool { return len(processes(t, mark)) == 0 })
	}
	b.rest()
	w.must(`cat $D/wait`)
}

func TestHookCommand_dies_with_the_program(t *testing.T) {
	w := hooksWorld(t)
	b := w.hook("tool_call", `sleep 86413`)
	w.must(`echo 'timeout tool_call 10m' > $D/hooks/ctl; echo 'prompt $ echo went on' > $D/ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`pgrep -fx 'sleep 86413'`).code == 0 })
	if err := b.cmd.Process.Kill(); err != nil { // and not its group
		t.Fatal(err)
	}
	want(t, "answer", w.must(`cat $D/sessions/main/reply`), "went on\n")
	eventually(t, "the command is gone", func() bool { return w.sh(`pgrep -fx 'sleep 86413'`).code != 0 })
}

// Two commands wait for each other.
func TestHookCommand_concurrency_is_how_many_run_at_once(t *testing.T) {
	w := hooksWorld(t)
	w.must(`mkfifo $T/pipe; mkdir $D/sessions/other`)
	b := w.start(`exec mikan hook --concurrency 2 demo/tool_call -- bash -c 'if grep -q first; then echo x > '$T'/pipe; else read -r x < '$T'/pipe; fi'`)
	w.listeners("tool_call", 1)
	got := w.must(`cd $D; echo 'prompt $ echo first' > sessions/main/ctl; echo 'prompt $ echo second' > sessions/other/ctl
		cat wait; cat sessions/main/last sessions/other/last; grep tool_call hooks/ctl`)
	want(t, "answers", got, "first\nsecond\ntool_call optional timeout 5s only all listeners 1 failed 0\n")
	b.kill()
}
