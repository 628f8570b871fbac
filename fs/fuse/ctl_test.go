package fuse_test

import (
	"context"
	"fmt"
	"os/user"
	"slices"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// commands mounts a ctl file that knows one verb, and errstr.
func commands(tb testing.TB) (string, *record) {
	ran := &record{}
	dir := &fs.Dir{Children: map[string]fs.Node{"ctl": &fs.Ctl{
		State: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
			return []byte("state idle\n"), time.Unix(1e9, 0), nil
		},
		Run: func(_ context.Context, who *fs.Identity, line string) error {
			if line == "bad" {
				return fs.Errorf(fs.Invalid, "unknown verb 'bad'; try go")
			}
			ran.add(who, line)
			return nil
		},
	}}}
	tree := newTree(dir)
	dir.Add("errstr", tree.Errstr())
	return mounted(tb, tree, fuse.Options{}), ran
}

func TestCtlRunsALineAtATimeAndReportsTheFailingOne(t *testing.T) {
	m, ran := commands(t)
	must(t, m, `echo one > $M/ctl; printf 'two\nthree\n' >> $M/ctl; printf four > $M/ctl; cat $M/ctl`)
	if got := ran.taken(); !slices.Equal(got, []string{"one", "two", "three", "four"}) {
		t.Errorf("ran %q", got)
	}
	for _, shell := range []string{"bash", "dash"} {
		needs(t, shell)
		r := run(t, m, shell, "-c", `echo bad > $M/ctl; echo $?; cat $M/errstr`)
		want(t, shell, r.out, "1\nwrite ctl: unknown verb 'bad'; try go\n")
	}
	r := sh(t, m, `printf 'first\nbad\nnever\n' | dd of=$M/ctl bs=4k status=none`)
	if got := ran.taken(); r.code == 0 || !slices.Equal(got, []string{"first"}) {
		t.Errorf("exit %d, ran %q", r.code, got)
	}
}

func TestEveryTerminalSessionHasItsOwnErrstr(t *testing.T) {
	needs(t, "setsid")
	m, _ := commands(t)
	out := must(t, m, `setsid -w bash -c 'echo bad > $M/ctl' 2>/dev/null; echo "here: $(cat $M/errstr)"`)
	want(t, "errstr of another session", out, "here: \n")
}

func TestFixedNamesStay(t *testing.T) {
	m, _ := commands(t)
	for _, script := range []string{`rm $M/ctl`, `mv $M/ctl $M/x`, `mkdir $M/d`, `echo > $M/new`, `ln -s a $M/l`, `ln $M/ctl $M/l`, `mkfifo $M/p`, `chmod 777 $M/ctl`, `chown 1:1 $M/ctl`, `rmdir $M`} {
		if r := sh(t, m, script); r.code == 0 {
			t.Errorf("%s succeeded", script)
		}
	}
	want(t, "ls", must(t, m, `ls $M`), "ctl\nerrstr\n")
}

func TestCallerIsTheProcessNotItsThread(t *testing.T) {
	needs(t, "python3")
	m, ran := commands(t)
	out := must(t, m, `python3 -c '
import os, threading
def f():
    with open(os.environ["M"]+"/ctl","w") as f: f.write("x\n")
t=threading.Thread(target=f); t.start(); t.join(); print(os.getpid(), os.getsid(0))'`)
	ran.mu.Lock()
	defer ran.mu.Unlock()
	who := ran.who[0]
	want(t, "pid and session", out, fmt.Sprintln(who.PID, who.Terminal))
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	want(t, "name", who.Name, me.Username)
}
