package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/harness/modeltest"
)

// processes are the ids of those that have mark in their arguments or their
// environment.
func processes(tb testing.TB, mark string) (list []string) {
	tb.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		tb.Fatal(err)
	}
	for _, dir := range dirs {
		for _, name := range []string{"cmdline", "environ"} {
			// One that has gone, or is another's, has nothing to show.
			if data, _ := os.ReadFile(dir + "/" + name); bytes.Contains(data, []byte(mark)) {
				list = append(list, filepath.Base(dir))
				break
			}
		}
	}
	return list
}

// stopLimit is what stop is promised to take; the rest is for the commands of
// the test.
const stopLimit = 2 * time.Second

// stopped runs what stops a run of the office and checks that the log has its
// end, the nth that was stopped, in time.
func (w *world) stopped(n int, stop string) {
	w.Helper()
	began := time.Now()
	w.must(stop)
	within(w, 10*time.Second, "stopped", func() bool {
		return strings.Count(w.get("offices/local/demo/log"), "[stopped") == n
	})
	if took := time.Since(began); took > stopLimit {
		w.Errorf("%s took %v", stop, took)
	}
}

func TestFault_Q2_stop_ends_a_run_whose_model_sends_nothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := modeltest.NewOpenAI(t, modeltest.Turn{Hang: true}, modeltest.Turn{Hang: true}, modeltest.Turn{Text: "Two."}, modeltest.Turn{Hang: true})
	w.useModel(model)
	w.serve()
	w.must(`mkdir $D; cd $D; mkdir sessions/other; echo 'prompt hangs here' > sessions/other/ctl`)
	<-model.Hung()
	w.must(`cd $D; echo 'prompt one' > ctl`)
	<-model.Hung()
	w.must(`cd $D; echo 'prompt two' > ctl; echo 'prompt three' > ctl`)

	reader := w.start(`echo reading; cd $D; cat wait; echo waited`)
	reader.line()
	w.stopped(1, `echo stop > $D/ctl`)

	// What was queued stays and runs: two is answered, three hangs in its turn.
	<-model.Hung()
	wantAll(t, "status", w.get("offices/local/demo/sessions/main/status"), "state running\nqueued 0\n", "last ok\n")
	want(t, "last", w.get("offices/local/demo/sessions/main/last"), "Two.\n")
	wantAll(t, "the other session", w.get("offices/local/demo/sessions/other/status"), "state running\nqueued 0\n")
	w.stopped(2, `mikan write offices/local/demo/sessions/main/ctl stop`)
	w.stopped(3, `echo stop all > $D/ctl`)
	want(t, "last", w.status("offices/local/demo/sessions/main/status", "last"), "stopped")
	want(t, "wait", reader.line(), "waited")
	want(t, "answers to three and to the other", w.must(`cd $D; cat sessions/main/reply sessions/other/reply`), "")
	want(t, "log", w.must(`jq -r .text $D/log`), "hangs here\none\ntwo\nthree\n[stopped; 2 queued]\nTwo.\n[stopped]\n[stopped]\n")
}

func TestFault_Q2_stop_ends_a_command_that_does_not_want_to(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	mark := fmt.Sprintf("mikan-e2e-mark-%d", os.Getpid())
	w.must(`mkdir $D; mkdir $D/sessions/other`)
	for _, c := range []struct{ name, command string }{
		{"ignores TERM", `trap '' TERM INT HUP; sleep 60 & wait`},
		{"left in the background", `sleep 60 & sleep 61 & disown -a; sleep 62`},
		{"another session", `setsid -f sleep 60; nohup sleep 61 > /dev/null 2>&1 & setsid sleep 62`},
	} {
		w.must(`cd $D; rm -f files/begun; echo 'prompt $ export MARK=` + mark + `; touch begun; ` + c.command + `' > ctl
			echo 'prompt $ touch other; sleep 2; echo well' > sessions/other/ctl
			echo 'prompt $ echo queued' > ctl`)
		eventually(t, "the commands run", func() bool { return w.sh(`cd $D/files && test -e begun && test -e other`).code == 0 })
		eventually(t, c.name+": a process has the mark", func() bool { return len(processes(t, mark)) > 0 })
		began := time.Now()
		w.must(`echo stop > $D/ctl; cat $D/sessions/main/wait`)
		if took := time.Since(began); took > stopLimit {
			t.Errorf("%s: stop and the next prompt took %v", c.name, took)
		}
		within(t, time.Second, "no process is left", func() bool { return len(processes(t, mark)) == 0 })
		want(t, c.name+": the queued prompt", w.must(`cat $D/sessions/main/reply`), "queued\n")
		want(t, c.name+": the other session", w.must(`cat $D/sessions/other/reply; rm $D/files/other`), "well\n")
	}
	want(t, "results", w.must(`jq -r 'select(.message.role=="toolResult")|.message.toolCallId' $D/sessions/main/transcript | wc -l`), "6\n")
}
