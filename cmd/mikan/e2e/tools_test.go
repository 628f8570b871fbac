package e2e

import (
	"strings"
	"testing"
	"time"
)

// toolScript serves the tool size in dash, and says so. A call with the word
// "hold" is not answered.
const toolScript = `exec dash -c 'exec 3<>tools/size/call; echo ready
while read -r tag req <&3; do
	all=$(cat tools/size/.body/$tag); all=${all:-$req}
	case $all in
	*hold*) echo "held $tag";;
	*big*) head -c 3000000 /dev/zero | tr "\0" x > tools/size/.body/$tag; echo "$tag ok" >&3;;
	*) echo "$tag ok ${#all}" >&3;;
	esac
done'`

// serveTool makes the tool size, if it is not there, and serves it.
func (w *world) serveTool() *background {
	w.Helper()
	w.must(`cd $D; mkdir -p tools/size; echo '{"description": "The size of a call."}' > tools/size/schema`)
	b := w.start("cd $D\n" + toolScript)
	want(w, "the tool", b.line(), "ready")
	return b
}

func TestTools_a_script_serves_one_through_the_mount(t *testing.T) {
	w := hooksWorld(t)
	b := w.serveTool()
	if got := w.ask(`% size {}`); len(got) != 4 || got > "999" {
		t.Errorf("a short call: %q", got)
	}
	if got := w.ask(`% size {"of":"` + long + `"}`); len(got) != 5 || got < "3000" {
		t.Errorf("a long call: %q", got)
	}
	wantAll(t, "a giant answer", w.ask(`% size {"of":"big"}`), "[The first 50.0 KB of 2.9 MB. Full output: ")
	if r := w.sh(`cd $D; exec 3<>tools/size/call`); r.code == 0 || !strings.Contains(r.err, "busy") {
		t.Errorf("a second one to serve it: exit %d, %s", r.code, r.err)
	}
	w.must(`cd $D/tools/size; sed -i s/size/length/ schema; jq '.timeout = "5s"' schema > new && mv new schema`)
	want(t, "edited", w.must(`cat $D/tools/size/schema`), `{"description":"The length of a call.","parameters":{"type":"object","properties":{}},"timeout":"5s"}`+"\n")
	if r := w.sh(`cd $D/tools/size; echo '{"description": ""}' > new && mv new schema`); r.code == 0 {
		t.Error("a schema without a description was taken")
	}
	if r := w.sh(`rmdir $D/tools/size`); r.code == 0 || !strings.Contains(r.err, "busy") {
		t.Errorf("rmdir: exit %d, %s", r.code, r.err)
	}
	ask := w.start(`mikan ask demo '% size {"of":"hold"}'`)
	held := b.line()
	began := time.Now()
	b.kill()
	want(t, "dead with the call", ask.line(), "who served the tool size has left without an answer; it is not known what the call did")
	if took := time.Since(began); took > 3*time.Second || !strings.HasPrefix(held, "held ") {
		t.Errorf("%s: it took %v", held, took)
	}
	w.must(`rmdir $D/tools/size`)
	wantAll(t, "removed", w.ask(`% size {}`), `there is no tool "size"`)
}

func TestTools_stop_withdraws_a_call_and_a_kill_leaves_the_tool(t *testing.T) {
	w := hooksWorld(t)
	b := w.serveTool()
	ask := w.start(`mikan ask demo '% size {"of":"hold"}'; echo exit $?`)
	b.line()
	began := time.Now()
	w.must(`echo stop > $D/ctl`)
	want(t, "stopped", ask.line(), "exit 3")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	want(t, "called again", w.must(`mikan ask demo '% size {"a":1}' | grep -c '^[0-9]*$'`), "1\n")
	schema := w.must(`cat $D/tools/size/schema`)
	w.last.kill9()
	w.unmount()
	w.serve()
	want(t, "the schema after a kill", w.must(`cat $D/tools/size/schema`), schema)
	wantAll(t, "nobody serves it any more", w.ask(`% size {}`), "nobody serves the tool size now")
}

func TestToolCommand_gives_what_a_command_says(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	w.must(`mikan mkdir offices/local/demo offices/local/demo/tools/size; echo '{"description": "x"}' | mikan write offices/local/demo/tools/size/schema`)
	for _, c := range []struct{ command, call, want string }{
		{`jq -c .args`, `{"a":1}`, `{"a":1}` + "\n"},
		{`jq -r .args.of`, `{"of":"two\nlines ` + long + `"}`, "two\nlines " + long + "\n"},
		{`true`, `{}`, "(no output)\n"},
		{`sh -c 'echo lost; echo no such thing >&2; exit 3'`, `{}`, "no such thing\n"},
		{`sh -c 'exit 3'`, `{}`, "exit status 3\n"},
		{`head -c 17000000 /dev/zero`, `{}`, "more than 16777216 bytes of output\n"},
	} {
		b := w.start(`exec mikan tool demo/size -- ` + c.command)
		var got string
		eventually(t, "the tool", func() bool {
			got = w.ask(`% size ` + c.call)
			return !strings.Contains(got, "nobody serves")
		})
		want(t, c.command, got, c.want)
		b.kill()
	}
	b := w.start(`exec mikan tool demo/size -- sh -c 'echo running >&2; sleep 1000 & echo $! > ` + w.dir + `/pid; wait'`)
	eventually(t, "the tool", func() bool {
		w.must(`mikan write offices/local/demo/ctl <<< 'prompt % size {}'`)
		w.must(`for i in 1 2 3 4 5; do test -s $T/pid && break; sleep 0.1; done; echo stop | mikan write offices/local/demo/ctl`)
		w.must(`mikan cat offices/local/demo/wait`)
		return w.sh(`test -s $T/pid`).code == 0
	})
	eventually(t, "what a stopped call has started ends", func() bool { return w.sh(`kill -0 $(cat $T/pid)`).code != 0 })
	b.kill()
	wantAll(t, "a bad name", w.sh(`mikan tool demo -- true`).err, "want platform/conversation/tool, for example local/demo/weather")
	wantAll(t, "no such tool", w.sh(`mikan tool demo/none -- true`).err, "file does not exist")
}

// A call that was stopped while it waited for the one before does nothing.
func TestToolCommand_does_not_run_for_a_call_that_was_stopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	w.must(`mikan mkdir offices/local/demo offices/local/demo/tools/size offices/local/demo/sessions/side; echo '{"description": "x"}' | mikan write offices/local/demo/tools/size/schema`)
	tool := w.start(`exec mikan tool demo/size -- sh -c 'echo >> $T/ran; while test ! -e $T/go; do sleep 0.05; done'`)
	var first *background
	eventually(t, "the tool", func() bool {
		first = w.start(`mikan ask demo '% size {}'; echo done`)
		return w.sh(`for i in $(seq 20); do test -s $T/ran && exit; sleep 0.1; done; exit 1`).code == 0
	})
	for range 5 {
		w.must(`mikan write offices/local/demo/sessions/side/ctl <<< 'prompt % size {}'`)
		eventually(t, "the call", func() bool {
			return w.sh(`mikan cat offices/local/demo/sessions/side/status | grep -q running`).code == 0
		})
		w.must(`sleep 0.3; mikan write offices/local/demo/sessions/side/ctl <<< stop; mikan cat offices/local/demo/sessions/side/wait`)
	}
	w.must(`touch $T/go`)
	want(t, "the first", first.line(), "(no output)")
	eventually(t, "the tool has seen all", func() bool { return strings.Count(tool.err.String(), "the question was settled") == 5 })
	want(t, "how often it ran", w.must(`wc -l < $T/ran`), "1\n")
}
