package e2e

import (
	"strings"
	"testing"
)

// repo makes a git repository with n commits in $T/repo.
const repo = `
git init -q $T/repo
for i in 1 2 3 4 5; do git -C $T/repo commit -q --allow-empty -m "commit $i"; done
`

func TestMount_a_prompt_in_ctl_is_answered_in_reply(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(repo)
	got := w.must(`cd $M; mkdir offices/local/demo && cd offices/local/demo && cp -r $T/repo/. files/ &&
		echo 'prompt $ git log --oneline | head -3' > ctl && cat sessions/main/reply`)
	want(t, "reply", got, w.must(`git -C $T/repo log --oneline | head -3`))
	if n := strings.Count(got, "\n"); n != 3 {
		t.Errorf("%d commits, want 3", n)
	}

	again := w.must(`cd $D; cat wait; cat sessions/main/reply sessions/main/reply; cat sessions/main/last`)
	want(t, "the same reply when the run has ended", again, got+got+got)
	wantAll(t, "status", w.must(`cat $D/status`), "state idle\n", "queued 0\n", "last ok\n", "model demo/echo\n")
}

func TestMount_ask_answers_on_the_open_file_in_every_shell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D`)
	for _, shell := range []string{"bash", "dash", "sh"} {
		needs(t, shell)
		for _, file := range []string{"ask", "sessions/main/ask"} {
			got := w.run(shell, "-c", `cd $D; exec 3<>`+file+`; echo hi >&3; cat <&3; echo '$ echo again' >&3; cat <&3`).ok(t).out
			answer, rest, _ := strings.Cut(got, "\n")
			want(t, shell+" "+file, answer, "demo: hi")
			if !strings.HasSuffix(rest, ")\nagain\n") {
				t.Errorf("%s %s: the second answer: %q", shell, file, rest)
			}
		}
	}
}

func TestMount_a_mistyped_verb_fails_and_starts_nothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D; cd $D; echo 'prompt hello' > ctl; cat wait`)
	state := `cd $D; cat log sessions/main/transcript status usage sessions/main/status`
	before := w.must(state)
	for _, shell := range []string{"bash", "dash"} {
		r := w.run(shell, "-c", `cd $D; echo stpo > ctl; echo $?; cat $M/errstr`)
		if shell == "bash" { // dash says "I/O error" of any failed write
			wantAll(t, shell, r.err, "Invalid argument")
		}
		code, errstr, _ := strings.Cut(r.out, "\n")
		if code == "0" {
			t.Errorf("%s: the write of a mistyped verb succeeded", shell)
		}
		wantAll(t, "errstr", errstr, `unknown verb "stpo"`, "mean stop?", "prompt", "steer", "fork", "archive")
	}
	r := w.sh(`cd $D; echo 'hello there, agent' > sessions/main/ctl || cat $M/errstr`)
	wantAll(t, "a prompt without its verb", r.out, "unknown verb", "prompt")
	if got := w.must(state); got != before {
		t.Errorf("a refused line left a trace:\nbefore %s\nafter %s", before, got)
	}
}

func TestMount_a_prompt_of_many_lines_arrives_whole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	text := strings.Repeat("a line with 'quotes', \"more\" and – signs\n\n", 2000) + "the end"
	w.write(w.dir+"/prompt", text+"\n")
	w.must(`mkdir $D; cat $T/prompt > $D/sessions/main/prompt`)
	got := w.must(`cd $D; cat sessions/main/reply; jq -j 'select(.user != "bot")|.text' log > $T/logged`)
	if !strings.HasPrefix(got, "demo: "+text+"\n") {
		t.Errorf("the answer has %d bytes and not the %d of the prompt", len(got), len(text))
	}
	if logged := w.read(w.dir + "/logged"); logged != text {
		t.Errorf("%d bytes are logged, %d were sent", len(logged), len(text))
	}
	r := w.sh(`cd $D; printf '' > sessions/main/prompt; echo '  ' | cat > sessions/main/prompt || cat $M/errstr`)
	wantAll(t, "an empty prompt", r.out, "empty")
	want(t, "prompts in the log", w.must(`jq -s 'map(select(.user != "bot"))|length' $D/log`), "1\n")
}

func TestMount_sessions_are_made_forked_renewed_renamed_and_archived(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	out := w.must(`mkdir $D; cd $D
		echo 'prompt remember the plum' > ctl; cat wait
		mkdir sessions/aside; echo 'prompt in another room' > sessions/aside/ctl; cat sessions/aside/reply | head -1
		echo 'fork branch' > ctl
		echo 'rename A quiet branch' > sessions/branch/ctl; grep ^title sessions/branch/status
		ls sessions`)
	want(t, "sessions", out, "demo: in another room\ntitle A quiet branch\nREADME\naside\nbranch\nmain\n")

	history := `grep -c 'remember the plum' $D/sessions/%/transcript`
	has := func(session string) bool {
		return w.sh(strings.ReplaceAll(history, "%", session)).code == 0
	}
	if !has("branch") || has("aside") {
		t.Errorf("the fork has the past: %v, the new session: %v; want true, false", has("branch"), has("aside"))
	}
	wantAll(t, "a second fork of the name", w.sh(`echo 'fork branch' > $D/ctl; cat $M/errstr`).out, "exists")

	size := w.must(`stat -c %s $D/sessions/main/transcript`)
	w.must(`cd $D; echo new > ctl; echo 'prompt afresh' > ctl; cat wait
		test $(stat -c %s sessions/main/transcript) -gt ` + size)
	if !has("main") {
		t.Error("new has thrown the past away")
	}

	out = w.must(`cd $D; rmdir sessions/aside; echo archive > sessions/branch/ctl; ls sessions
		mkdir sessions/branch; grep -q 'remember the plum' sessions/branch/transcript; grep ^title sessions/branch/status
		ls sessions`)
	want(t, "archived and brought back", out, "README\nmain\ntitle A quiet branch\nREADME\nbranch\nmain\n")
	for _, try := range []string{`rmdir sessions/main`, `echo archive > sessions/main/ctl`, `rmdir sessions`, `mkdir sessions/main`, `mkdir 'sessions/a%2'`} {
		if r := w.sh(`cd $D; ` + try); r.code == 0 {
			t.Errorf("%s: it should have failed", try)
		}
	}
}

func TestMount_an_archived_office_comes_back_with_its_history(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve()
	w.must(`mkdir $D; cd $D; echo kept > files/note; echo '{"llm":{"thinkingLevel":"low"}}' | cat > settings.json
		mkdir sessions/aside; echo 'prompt remember the plum' > ctl; cat wait
		cat log sessions/main/transcript settings.json files/note key > $T/before
		cd $M; echo archive > offices/local/demo/ctl
		test ! -e offices/local/demo; ls offices/local > $T/ls`)
	want(t, "offices", w.read(w.dir+"/ls"), "README\n")
	wantAll(t, "office list", w.mikan("office", "list", "--state-dir", w.state).ok(t).out, "local/demo v1-local-demo-", " archived\n")
	if code := d.term(); code != 0 {
		t.Errorf("exit %d", code)
	}
	w.serve()
	w.must(`test ! -e $D; mkdir $D; cd $D; ls sessions > $T/ls
		cat log sessions/main/transcript settings.json files/note key | cmp - $T/before`)
	want(t, "sessions", w.read(w.dir+"/ls"), "README\naside\nmain\n")
	w.must(`rmdir $D; test ! -e $D`)
	if r := w.sh(`cat $D/log`); r.code == 0 {
		t.Errorf("an archived office can be read: %s", r.out)
	}
}
