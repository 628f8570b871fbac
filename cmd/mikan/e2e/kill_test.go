package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mikan/fs/ninep"
	"mikan/wire"
)

// seedVar chooses the moments of TestKill9; its log says which they were.
const seedVar = "MIKAN_E2E_SEED"

// lines are the sessions that are prompted while the daemon dies, each by one
// writer: over 9P, or through the mount.
var lines = []struct {
	session string
	mounted bool
}{
	{"offices/local/demo/sessions/main", false},
	{"offices/local/demo/sessions/aside", true},
	{"offices/local/other/sessions/main", false},
	{"offices/local/other/sessions/talk", true},
}

// sent is a prompt that somebody tried to give.
type sent struct {
	n        int
	session  string
	command  bool // it appends its number to a file; else it is plain text
	accepted bool // the write succeeded
}

func (s sent) text() string {
	switch {
	case s.command && s.n%5 == 0: // two calls, the first of which appends
		return fmt.Sprintf("$ echo %d >> done; sleep 0.05\n$ sleep 0.05; echo n%d", s.n, s.n)
	case s.command:
		return fmt.Sprintf("$ sleep 0.05; echo %d >> done; echo n%d", s.n, s.n)
	}
	return fmt.Sprintf("say n%d", s.n)
}

// reply is what the answer to a prompt that settled well begins with.
func (s sent) reply() string {
	switch {
	case s.command && s.n%5 == 0:
		return fmt.Sprintf("(no output)\nn%d", s.n)
	case s.command:
		return fmt.Sprintf("n%d", s.n)
	}
	return fmt.Sprintf("demo: say n%d", s.n)
}

// ledger is what the writers know.
type ledger struct {
	mu   sync.Mutex
	list []sent
}

// next takes a number for a session's next prompt.
func (l *ledger) next(session string) sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list) + 1
	s := sent{n: n, session: session, command: n%3 != 0}
	l.list = append(l.list, s)
	return s
}

func (l *ledger) accept(s sent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list[s.n-1].accepted = true
}

// TestKill9_loses_no_prompt_and_runs_none_twice kills the daemon at random
// moments of its work, also while it starts, and starts it again over the mount
// that it left.
func TestKill9_loses_no_prompt_and_runs_none_twice(t *testing.T) {
	t.Parallel()
	rounds := 50
	if testing.Short() {
		rounds = 8
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedVar); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVar, seed)
	random := rand.New(rand.NewPCG(seed, 1))

	w := newWorld(t)
	d := w.serve()
	w.must(`cd $M/offices/local; mkdir demo other demo/sessions/aside other/sessions/talk`)
	holder := w.start(`cd $D; exec 3< log; echo here; read`) // somebody who stays in the dead mount
	holder.line()
	var book ledger
	for range rounds {
		var writers sync.WaitGroup
		for _, l := range lines {
			pause := time.Duration(random.IntN(40)) * time.Millisecond
			writers.Go(func() { w.send(&book, l.session, l.mounted, pause) })
		}
		time.Sleep(time.Duration(random.IntN(250)) * time.Millisecond) // the random moment
		d.kill9()
		writers.Wait()
		if random.IntN(4) == 0 {
			w.killStarting(time.Duration(random.IntN(60)) * time.Millisecond)
		}
		d = w.serve()
	}
	for _, l := range lines {
		w.must(`cat $M/` + l.session + `/wait`)
	}
	for _, l := range lines {
		w.checkLine(book.list, l.session)
	}
	w.must(`rm $D/../other/files/done $D/files/done`)
	if code := d.term(); code != 0 {
		t.Errorf("exit %d", code)
	}
	holder.kill()
	eventually(t, "no process is left of any daemon", func() bool { return len(processes(t, w.dir)) == 0 })
}

// killStarting kills a daemon that may not be ready yet.
func (w *world) killStarting(after time.Duration) {
	w.Helper()
	cmd := w.serveCommand("--mount", w.mount)
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	time.Sleep(after) // the random moment
	if err := cmd.Process.Kill(); err != nil {
		w.Error(err)
	}
	_ = cmd.Wait() // killed
}

// send gives a session prompts until one is not taken, three at most.
func (w *world) send(book *ledger, session string, mounted bool, pause time.Duration) {
	for range 3 {
		s := book.next(session)
		give := w.give9P
		if mounted {
			give = w.giveMounted
		}
		if give(s) != nil {
			return // the daemon has been killed
		}
		book.accept(s)
		time.Sleep(pause) // so that the moments differ
	}
}

func (w *world) give9P(s sent) error {
	ctx, cancel := context.WithTimeout(w.Context(), stepLimit)
	defer cancel()
	c, err := ninep.Dial(ctx, w.socket())
	if err != nil {
		return err
	}
	defer c.Close()
	return c.WriteFile(ctx, s.session+"/prompt", []byte(s.text()))
}

func (w *world) giveMounted(s sent) error {
	ctx, cancel := context.WithTimeout(w.Context(), stepLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", `printf '%s' "$1" | cat > "$M/$2/prompt"`, "bash", s.text(), s.session)
	cmd.Dir, cmd.Env = "/", w.shellEnv()
	return cmd.Run()
}

// checkLine checks what has become of a session's prompts.
func (w *world) checkLine(list []sent, session string) {
	w.Helper()
	office, _, _ := strings.Cut(session, "/sessions/")
	asked, answered := w.records(office)
	done := strings.Split(w.must(`cat $M/`+office+`/files/done`), "\n")
	outcomes := map[string]int{}
	for _, s := range list {
		if s.session != session {
			continue
		}
		ids := asked[s.text()]
		ran := count(done, strconv.Itoa(s.n))
		switch {
		case len(ids) == 0 && !s.accepted:
			if ran > 0 {
				w.Errorf("prompt %d was refused and ran", s.n)
			}
			continue
		case len(ids) != 1:
			w.Errorf("prompt %d (accepted: %v) is recorded %d times", s.n, s.accepted, len(ids))
			continue
		}
		answers := answered[ids[0]]
		if len(answers) != 1 {
			w.Errorf("prompt %d has %d outcomes: %q", s.n, len(answers), answers)
			continue
		}
		settled := strings.HasPrefix(answers[0], s.reply())
		interrupted := strings.Contains(answers[0], "[interrupted: ")
		switch {
		case settled && !interrupted:
			outcomes["settled"]++
			if s.command && ran != 1 {
				w.Errorf("prompt %d settled and ran %d times", s.n, ran)
			}
		case interrupted:
			outcomes["interrupted"]++
			if ran > 1 {
				w.Errorf("prompt %d was interrupted and ran %d times", s.n, ran)
			}
		default:
			w.Errorf("prompt %d ended with %q", s.n, answers[0])
		}
	}
	w.Logf("%s: %v", session, outcomes)
	wantAll(w, session, w.must(`cat $M/`+session+`/status`), "state idle\nqueued 0\n")
	checkTranscript(w, w.must(`cat $M/`+session+`/transcript`))
}

// records are an office's: the ids by the text of the prompt, and the answers by
// the id.
func (w *world) records(office string) (asked, answered map[string][]string) {
	w.Helper()
	asked, answered = map[string][]string{}, map[string][]string{}
	for line := range strings.Lines(w.must(`cat $M/` + office + `/log`)) {
		var r wire.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.Fatalf("log: %q: %v", line, err)
		}
		if r.User == "bot" {
			answered[r.TS] = append(answered[r.TS], r.Text)
		} else {
			asked[r.Text] = append(asked[r.Text], r.TS)
		}
	}
	return asked, answered
}

func count(list []string, text string) (n int) {
	for _, x := range list {
		if x == text {
			n++
		}
	}
	return n
}

// checkTranscript checks that each tool call is followed by exactly one result.
func checkTranscript(tb testing.TB, transcript string) {
	tb.Helper()
	var open []string // calls of the last assistant message
	for line := range strings.Lines(transcript) {
		var e wire.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			tb.Fatalf("transcript: %q: %v", line, err)
		}
		if e.Message == nil {
			continue
		}
		if m := *e.Message; m.Role == wire.ToolResult {
			i := slices.Index(open, m.ToolCallID)
			if i < 0 {
				tb.Errorf("a result without a call: %s", line)
				continue
			}
			open = slices.Delete(open, i, i+1)
			continue
		} else if len(open) > 0 {
			tb.Errorf("calls %q have no result before %s", open, line)
		}
		open = nil
		for _, call := range e.Message.Calls() {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		tb.Errorf("calls %q have no result at the end", open)
	}
}
