package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// theKey is what a hook takes out of results, and makesKey a command that prints
// it without having it.
const (
	theKey   = "AKIA0123456789ABCDEF"
	makesKey = `printf AKIA01; echo 23456789ABCDEF`
)

// long is so much that a request does not fit into its line.
var long = strings.Repeat("x", 3000)

// hooksWorld is a world with the office demo.
func hooksWorld(t *testing.T) *world {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D`)
	return w
}

// listen runs a script in the office until it serves the hook.
func (w *world) listen(hook, script string) *background {
	w.Helper()
	b := w.start("cd $D\n" + script)
	w.listeners(hook, 1)
	return b
}

// listeners waits until so many serve the hook.
func (w *world) listeners(hook string, n int) {
	w.Helper()
	line := regexp.MustCompile(fmt.Sprintf(`(?m)^%s .* listeners %d `, hook, n))
	eventually(w, fmt.Sprintf("%d listeners of %s", n, hook), func() bool {
		return line.MatchString(w.get("offices/local/demo/hooks/ctl"))
	})
}

// ask gives the office a prompt and returns the answer.
func (w *world) ask(prompt string) string {
	w.Helper()
	return w.mikan("ask", "demo", prompt).ok(w).out
}

// manualScript is the script of the manual that serves a hook.
func manualScript(t *testing.T, hook string) string {
	t.Helper()
	page, err := os.ReadFile("../../../man/mikan.4.mdoc.in")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?ms)^\.\\" hook ` + hook + `\n\.Bd[^\n]*\n(.*?)^\.Ed\n`).FindSubmatch(page)
	if m == nil {
		t.Fatalf("the manual has no script for %s", hook)
	}
	return strings.ReplaceAll(string(m[1]), `\e`, `\`)
}

// The scripts that look at the line only, for requests that fit into it.
const (
	vetoLine = `exec 3<>hooks/tool_call
while read -r tag req <&3; do
	case $req in *'rm -rf'*) echo "$tag deny not on my watch";; *) echo "$tag allow";; esac >&3
done`
	rewriteLine = `exec 3<>hooks/before_agent_start
while read -r tag req <&3; do
	printf '%s replace %s\n' "$tag" "$(jq -c '.prompt+="\n(be brief)"|{prompt}' <<<"$req")" >&3
done`
	redactLine = `exec 3<>hooks/tool_result
while read -r tag req <&3; do
	printf '%s replace %s\n' "$tag" "$(sed -E 's/AKIA[0-9A-Z]{16}/[redacted]/g' <<<"$req")" >&3
done`
)

func TestHooks_a_script_refuses_a_call_of_any_size(t *testing.T) {
	w := hooksWorld(t)
	for _, script := range []string{vetoLine, "exec dash -c '" + strings.ReplaceAll(vetoLine, "'", `'\''`) + "'", manualScript(t, "tool_call")} {
		b := w.listen("tool_call", script)
		wantAll(t, "refused", w.ask("$ echo rm -rf > made"), "refused: not on my watch")
		want(t, "allowed", w.ask("$ ls; echo fine"), "log.jsonl\nfine\n")
		if script == manualScript(t, "tool_call") {
			wantAll(t, "refused", w.ask("$ touch made # "+long+" rm -rf"), "refused: not on my watch")
			want(t, "allowed", w.ask("$ ls; echo fine # "+long), "log.jsonl\nfine\n")
		}
		b.kill()
		w.listeners("tool_call", 0)
	}
	wantAll(t, "hooks/ctl", w.get("offices/local/demo/hooks/ctl"), "tool_call optional timeout 5s only all listeners 0 failed 0\n")
}

// A script that does not look into the body is not taken to have allowed it.
func TestHooks_to_allow_what_was_not_read_is_no_answer(t *testing.T) {
	w := hooksWorld(t)
	w.listen("tool_call", vetoLine)
	w.must(`echo 'require tool_call' > $D/hooks/ctl`)
	wantAll(t, "unread", w.ask("$ echo went on # "+long), "refused: the hook tool_call must answer", "without reading")
	want(t, "in the line", w.ask("$ echo went on"), "went on\n")
}

func TestHooks_a_script_adds_to_a_prompt_of_any_size(t *testing.T) {
	w := hooksWorld(t)
	for _, script := range []string{rewriteLine, manualScript(t, "before_agent_start")} {
		b := w.listen("before_agent_start", script)
		wantAll(t, "short", w.ask("hello"), "demo: hello\n(be brief)\n")
		if script != rewriteLine {
			wantAll(t, "long", w.ask(long), "demo: "+long+"\n(be brief)\n")
		}
		b.kill()
		w.listeners("before_agent_start", 0)
	}
	wantAll(t, "the history", w.must(`cat $D/sessions/main/transcript`), `hello\n(be brief)`)
}

func TestHooks_a_script_redacts_a_result_of_any_size(t *testing.T) {
	w := hooksWorld(t)
	for _, script := range []string{redactLine, manualScript(t, "tool_result")} {
		b := w.listen("tool_result", script)
		want(t, "short", w.ask("$ "+makesKey), "[redacted]\n")
		if script != redactLine {
			wantAll(t, "long", w.ask("$ seq 3000; "+makesKey), "2999\n3000\n[redacted]\n")
		}
		b.kill()
		w.listeners("tool_result", 0)
	}
	for _, file := range []string{"sessions/main/transcript", "log", "files/log.jsonl"} {
		if strings.Contains(w.must(`cat $D/`+file), theKey) {
			t.Errorf("%s has the key", file)
		}
	}
	want(t, "without the hook", w.ask("$ "+makesKey), theKey+"\n")
}

// A shell reads a stream byte by byte; what a body costs must not depend on that.
func TestHooks_a_large_body_costs_a_shell_no_more_reads_than_the_line_has_bytes(t *testing.T) {
	needs(t, "strace")
	w := hooksWorld(t)
	if r := w.run("strace", "-o", "/dev/null", "true"); r.code != 0 {
		t.Skip("nothing can be traced here: ", r.err)
	}
	w.must(`echo 'timeout before_agent_start 1m' > $D/hooks/ctl`)
	w.listen("before_agent_start", `exec strace -f -e trace=read bash -c '
exec 3<>hooks/before_agent_start; read -r tag req <&3; n=$(wc -c < hooks/.body/$tag); echo "$tag deny $n bytes" >&3; read' 2>$T/trace`)
	const size = 900 << 10
	w.write(w.dir+"/prompt", strings.Repeat("y", size))
	r := w.sh(`mikan ask demo < $T/prompt`)
	m := regexp.MustCompile(`refused before it began: (\d+) bytes`).FindStringSubmatch(r.err)
	if m == nil || len(m[1]) != len(fmt.Sprint(size)) || m[1] < fmt.Sprint(size) {
		t.Errorf("the listener saw a body of %v: %s", m, r.err)
	}
	reads := regexp.MustCompile(`(?m)read\(0, "[^"]+", 1\)`).FindAllString(w.read(w.dir+"/trace"), -1)
	if n := len(reads); n < 10 || n > 1024 {
		t.Errorf("%d reads of the hook", n)
	}
}

// Whatever a listener does that is no answer, the policy decides, in time.
func TestHooks_a_listener_that_fails_costs_its_time_and_no_more(t *testing.T) {
	t.Parallel()
	const open, hold = "exec 3<>hooks/tool_call; ", "exec 3<>hooks/tool_call; read -r tag req <&3; "
	for name, c := range map[string]struct {
		script string
		again  int // listeners that are asked the next time
	}{
		"never reads":          {open + "sleep 1000", 0},
		"never answers":        {hold + "read", 0},
		"garbage":              {hold + `echo nonsense >&3; echo "$tag maybe" >&3; echo "$tag replace {" >&3; head -c 2000000 /dev/zero >&3; read`, 0},
		"args of another kind": {hold + `echo "$tag replace {\"args\":[1]}" >&3; read`, 1},
		"dies":                 {hold + `kill -9 $$`, 0},
		"dies within a line":   {hold + `printf "$tag al" >&3; kill -9 $$`, 0},
		"leaves a child":       {hold + `sleep 1000 & exit`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := hooksWorld(t)
			w.must(`echo 'timeout tool_call 700ms' > $D/hooks/ctl`)
			w.listen("tool_call", c.script)
			began := time.Now()
			want(t, "optional", w.ask("$ echo went on"), "went on\n")
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			w.listeners("tool_call", c.again)
			wantAll(t, "hooks/ctl", w.get("offices/local/demo/hooks/ctl"), "failed 1\n")
			w.must(`echo 'require tool_call' > $D/hooks/ctl`)
			wantAll(t, "require", w.ask("$ echo went on"), "refused: the hook tool_call must answer")
		})
	}
}

func TestHooks_death_with_a_question_is_noticed_at_once(t *testing.T) {
	w := hooksWorld(t)
	w.must(`echo 'timeout tool_call 10m' > $D/hooks/ctl`)
	b := w.listen("tool_call", `exec 3<>hooks/tool_call; read -r tag req <&3; echo held; read`)
	ask := w.start(`mikan ask demo '$ echo went on'`)
	b.line()
	began := time.Now()
	b.kill()
	want(t, "answer", ask.line(), "went on")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestHooks_a_second_answer_is_an_error_and_changes_nothing(t *testing.T) {
	w := hooksWorld(t)
	b := w.listen("tool_call", `exec 3<>hooks/tool_call; read -r tag req <&3
echo "$tag deny once" >&3; echo "$tag allow" >&3 || cat $M/errstr; read`)
	wantAll(t, "answer", w.ask("$ echo went on"), "refused: once")
	wantAll(t, "errstr", b.line(), "no request 1 waits for an answer")
}
