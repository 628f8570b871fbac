package e2e

import (
	"strings"
	"testing"
)

// TestShell_the_lines_that_people_type are one-liners that each do a day's work.
func TestShell_the_lines_that_people_type(t *testing.T) {
	w := hooksWorld(t)
	log := w.start(`cd $D; tail -s 0.05 -f log | jq -r --unbuffered '.user+": "+.text'`)
	tools := w.start(`cd $D; exec 3<feed; echo open; jq -r --unbuffered 'select(.type=="tool_call").name' <&3`)
	tools.line()
	w.write(w.dir+"/brief.md", "one\ntwo\n$ echo three\n")
	for _, c := range []struct{ script, want string }{
		{`exec 3<>ask; echo 'what is 2+2?' >&3; head -1 <&3 2>/dev/null; exec 3>&-`, "demo: what is 2+2?\n"},
		{`cat $T/brief.md > ask; cat wait; cat sessions/main/last`, "three\n"},
		{`echo 'prompt summarise the last hour' > ctl && echo sent; cat sessions/main/reply | sed 1q`, "sent\ndemo: summarise the last hour\n"},
		{`echo 'fork review' > ctl; echo 'thinking high' > sessions/review/ctl; grep thinking sessions/review/status`, "thinking high\n"},
		{`echo 'prompt $ sleep 1000' > ctl; until grep -q running status; do sleep 0.01; done; echo stop > ctl; cat wait; grep last status`, "last stopped\n"},
		{`for s in sessions/*/; do echo "prompt in $s" > $s/ctl; done; cat wait; cat sessions/review/last | sed 1q`, "demo: in sessions/review/\n"},
	} {
		want(t, c.script, w.must("cd $D; "+c.script), c.want)
	}
	wantAll(t, "the log", log.line(), "local:", ": what is 2+2?")
	for log.line() != "bot: demo: what is 2+2?" { // the next prompt may have come before the answer's end
	}
	if line := tools.line(); !strings.Contains(line, "bash") {
		t.Errorf("the feed tells of the tool %q", line)
	}
}
