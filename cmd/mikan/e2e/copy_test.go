package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// snapshot prints what a copy of the tree could have changed: which files there
// are, and what the offices hold.
const snapshot = `cd $M
	find . -printf '%P %y %m %u %g %l\n'
	find offices shared -printf '%P %s %T@\n'
	cat offices/local/*/log offices/local/*/status offices/local/*/sessions/*/transcript offices/local/*/sessions/*/status`

// copiers are commands that go through the whole of $M and write to $T.
var copiers = []struct{ tool, script string }{
	{"cp", `cp -r $M $T/copy; test -s $T/copy/offices/local/demo/sessions/main/transcript`},
	{"grep", `grep -r 'needle' $M > $T/found; grep -q sessions/main/transcript $T/found; grep -q files/hay $T/found`},
	{"rg", `rg --hidden --no-ignore needle $M > $T/found; grep -q sessions/main/transcript $T/found; grep -q files/hay $T/found`},
	{"tar", `tar -C $M -cf $T/copy.tar .; tar -xOf $T/copy.tar ./offices/local/demo/log | grep -q needle`},
	{"find", `find $M -type f -exec cat {} + > $T/found; find $M -type f -newer $T/home > /dev/null; grep -q needle $T/found`},
	{"rsync", `rsync -a $M/ $T/synced; cmp $T/synced/offices/local/demo/log $D/log`},
	{"ls", `ls -lR $M > $T/found; grep -q transcript $T/found`},
	{"du", `du -a $M > $T/found; find $M -type f -exec wc -c {} + > $T/found; find $M -type f -exec sha256sum {} + > $T/found`},
}

// TestMount_copying_the_tree_ends_and_changes_nothing has one office at rest and
// one at work, whose blocking files would never end.
func TestMount_copying_the_tree_ends_and_changes_nothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D $M/offices/local/busy; cd $D; mkdir files/skills; echo needle > files/hay
		echo 'prompt $ ln -s hay link' > ctl; echo 'prompt a needle' > ctl; cat wait; test -L files/link; cd ../busy; echo 'prompt $ echo begun > mark; sleep 600' > ctl; echo 'prompt later' > ctl`)
	eventually(t, "the command runs", func() bool { return w.sh(`test -s $M/offices/local/busy/files/mark`).code == 0 })
	before := w.must(snapshot)
	wantAll(t, "state", before, "state running\nqueued 1\n")
	for _, c := range copiers {
		t.Run(c.tool, func(t *testing.T) {
			needs(t, c.tool)
			began := time.Now()
			w.must(c.script)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			sameLines(t, before, w.must(snapshot))
		})
	}
	w.must(`cd $M/offices/local/busy; echo stop > ctl; cat wait`)
}

// sameLines shows how two texts differ.
func sameLines(t *testing.T, before, after string) {
	t.Helper()
	if before == after {
		return
	}
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range a {
		if !slices.Contains(b, line) {
			t.Errorf("gone: %s", line)
		}
	}
	for _, line := range b {
		if !slices.Contains(a, line) {
			t.Errorf("new: %s", line)
		}
	}
}

func TestMount_tail_follows_a_log(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D; cd $D; echo 'prompt first' > ctl; cat wait`)
	for _, command := range []string{"tail -n +1 -f $D/log", "mikan tail -n 2 offices/local/demo/log"} {
		follower := w.start(command)
		wantAll(t, command, follower.line(), `"first"`)
		wantAll(t, command, follower.line(), `demo: first`)
		w.must(`echo 'prompt then another' > $D/ctl; cat $D/wait`)
		wantAll(t, command, follower.line(), `"then another"`)
		wantAll(t, command, follower.line(), `demo: then another`)
		w.must(`echo 'prompt first' > $D/ctl; cat $D/wait`) // as the next follower finds it
	}
}
