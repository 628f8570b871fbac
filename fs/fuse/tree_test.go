package fuse_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// sample is a tree with a file of every kind. touched records whatever is
// changed or run, which reading must never do.
func sample(tb testing.TB, opts fuse.Options) (m, host string, touched *record) {
	touched = &record{}
	host = tb.TempDir()
	if err := os.WriteFile(filepath.Join(host, "MEMORY.md"), []byte("remember\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	if err := os.Symlink("MEMORY.md", filepath.Join(host, "link")); err != nil {
		tb.Fatal(err)
	}
	source := &growing{}
	source.add("a line\n")
	touch := func(_ context.Context, who *fs.Identity, data []byte) error {
		touched.add(who, string(data))
		return nil
	}
	office := &fs.Dir{Mode: 0o755, Scratch: true, Children: map[string]fs.Node{
		"status":        &fs.Value{Mode: 0o444, Get: newCell("state idle\n").get},
		"settings.json": &fs.Value{Mode: 0o644, Get: newCell("{}\n").get, Set: touch},
		"ctl": &fs.Ctl{
			State: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
				return []byte("state idle\n"), time.Unix(1e9, 0), nil
			},
			Run: func(_ context.Context, who *fs.Identity, line string) error {
				touched.add(who, line)
				return nil
			},
		},
		"log":   &fs.Log{Mode: 0o444, Source: source},
		"feed":  &fs.Feed{Mode: 0o444},
		"reply": &fs.Answer{Mode: 0o444, Bind: func(context.Context, *fs.Identity) (*fs.Stream, error) { return fs.NewStream(), nil }},
		"wait": &fs.Waiter{Wait: func(ctx context.Context, _ *fs.Identity) error {
			<-ctx.Done()
			return ctx.Err()
		}},
		"ask": &fs.Ask{Commit: func(_ context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
			touched.add(who, string(body))
			return nil, 0, nil
		}},
		"prompt": &fs.Body{Commit: touch},
		"vault":  &fs.Dir{Mode: 0o700, Children: map[string]fs.Node{"TOKEN": &fs.Secret{Set: touch}}},
		"files":  fs.NewHostDir(host),
	}}
	tree := newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"README":  &fs.Value{Mode: 0o444, Get: newCell("what stands here\n").get},
		"offices": &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"demo": office}},
	}})
	return mounted(tb, tree, opts), host, touched
}

func TestReadingTheWholeTreeEndsAndChangesNothing(t *testing.T) {
	m, host, touched := sample(t, fuse.Options{})
	for _, tool := range []struct{ name, script, needs string }{
		{"find", `test $(find $M | wc -l) = 14 && find $M -newermt 2100-01-01 | wc -l`, "find"},
		{"ls", `ls -lR $M`, "ls"},
		{"du", `du -a $M`, "du"},
		{"cat", `cat $M/README $M/offices/demo/{ctl,status,settings.json,log,prompt} $M/offices/demo/files/link`, "cat"},
		{"grep", `grep -r remember $M/offices/demo/files`, "grep"},
		{"rg", `rg -uu -g '!TOKEN' idle $M`, "rg"},
		{"wc", `wc $M/README`, "wc"},
		{"file sizes", `find $M -type f -size +0 | sort | xargs -n1 basename | tr '\n' ' ' | grep -qx 'README ctl MEMORY.md log settings.json status '`, "find"},
		{"cmp", `cmp $M/README <(echo what stands here); test -s $M/README`, "cmp"},
		{"python shutil", `python3 -c 'import os,shutil; shutil.copyfile(os.environ["M"]+"/README", os.environ["T"]+"/x")'; cmp $M/README $T/x`, "python3"},
		{"tar", `tar -C $M -cf $T/x.tar --exclude TOKEN . && tar -tf $T/x.tar | grep -q log && tar -xOf $T/x.tar ./offices/demo/log | grep -q line`, "tar"},
		{"cp -r", `cp -r $M $T/copy; cmp $M/offices/demo/log $T/copy/offices/demo/log`, "cp"},
		{"rsync", `rsync -a --exclude TOKEN $M/ $T/sync && cmp $M/offices/demo/status $T/sync/offices/demo/status`, "rsync"},
		{"backup twice", `cp -r $M $T/a; cp -r $M $T/b; diff -r $T/a $T/b`, "diff"},
	} {
		t.Run(tool.name, func(t *testing.T) {
			needs(t, tool.needs)
			must(t, m, tool.script)
		})
	}
	if list := touched.taken(); len(list) > 0 {
		t.Errorf("reading did %q", list)
	}
	if list, err := os.ReadDir(host); err != nil || len(list) != 2 {
		t.Errorf("the host directory has %v, %v", list, err)
	}
}

func TestTimesAreThoseOfTheContent(t *testing.T) {
	m, _, _ := sample(t, fuse.Options{})
	want(t, "mtime", must(t, m, `stat -c '%Y %s %h %a' $M/offices/demo/status $M/offices`),
		"1000000000 11 1 444\n"+must(t, m, `stat -c '%Y 0 2 755' $M/offices`))
}

func TestNobodyMayWhatTheModeBitsSay(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become nobody")
	}
	needs(t, "setpriv")
	m, host, touched := sample(t, fuse.Options{AllowOther: true})
	openTo(t, m)
	openTo(t, filepath.Join(host, "MEMORY.md"))
	if err := os.WriteFile(filepath.Join(host, "private"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		ok     bool
	}{
		{`cat $M/README`, true},
		{`cat $M/offices/demo/status`, true},
		{`ls $M/offices/demo`, true},
		{`cat $M/offices/demo/files/MEMORY.md`, true},
		{`cat $M/offices/demo/files/private`, false},
		{`echo x > $M/offices/demo/files/MEMORY.md`, false},
		{`ls $M/offices/demo/vault`, false},
		{`cat $M/offices/demo/vault/TOKEN`, false},
		{`echo x > $M/offices/demo/vault/TOKEN`, false},
		{`echo '{}' > $M/offices/demo/settings.json`, false},
		{`: > $M/offices/demo/settings.json`, false},
		{`echo go > $M/offices/demo/ctl`, false},
		{`cat $M/offices/demo/ctl`, false},
		{`exec 3<>$M/offices/demo/ask`, false},
		{`echo x > $M/offices/demo/prompt`, false},
		{`echo x > $M/offices/demo/scratch`, false},
		{`mkdir $M/offices/demo/d`, false},
		{`rm -f $M/offices/demo/status`, false},
		{`mv $M/offices/demo/status $M/offices/demo/x`, false},
		{`chmod 777 $M/offices/demo/settings.json`, false},
		{`touch $M/offices/demo/settings.json`, false},
		{`truncate -s 0 $M/offices/demo/settings.json`, false},
	} {
		r := run(t, m, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", c.script)
		if (r.code == 0) != c.ok {
			t.Errorf("%s: exit %d: %s%s", c.script, r.code, r.out, r.err)
		}
	}
	if list := touched.taken(); len(list) > 0 {
		t.Errorf("nobody did %q", list)
	}
}

// openTo lets others reach dir, which is in a private temporary directory.
func openTo(tb testing.TB, dir string) {
	for p := filepath.Dir(dir); strings.HasPrefix(p, os.TempDir()+"/"); p = filepath.Dir(p) {
		if err := os.Chmod(p, 0o711); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestGroupsOfTheCallerCount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to take on a group")
	}
	needs(t, "setpriv")
	status := newCell("shown\n")
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"x": &fs.Value{Mode: 0o440, Get: status.get}}}
	m := mounted(t, fs.NewTree(root, 0, 4242), fuse.Options{AllowOther: true})
	openTo(t, m)
	for _, groups := range []string{"--groups=4242,7", "--groups=7"} {
		r := run(t, m, "setpriv", "--reuid=65534", "--regid=65534", groups, "cat", m+"/x")
		if (r.code == 0) != strings.Contains(groups, "4242") {
			t.Errorf("%s: exit %d: %s", groups, r.code, r.err)
		}
	}
}

func TestOthersAreKeptOutByDefault(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become nobody")
	}
	needs(t, "setpriv")
	m, _, _ := sample(t, fuse.Options{})
	openTo(t, m)
	r := run(t, m, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "ls", m)
	if r.code == 0 {
		t.Errorf("nobody saw %q", r.out)
	}
}

func TestHostDirHoldsAGitRepository(t *testing.T) {
	t.Parallel()
	needs(t, "git")
	m, host, _ := sample(t, fuse.Options{})
	out := must(t, m, `set -e; cd $M/offices/demo/files
git init -q . && git add . && git commit -qm one
for i in $(seq 4); do echo $i > f$i; done; git add . && git commit -qm two
git mv f1 g1; git rm -q f2; git commit -qm three; git gc -q; git fsck --strict
git checkout -q HEAD~1; git status --short; git log --oneline | wc -l; git clone -q . ../files/clone; cat clone/f2`)
	want(t, "output", out, "2\n2\n")
	want(t, "on the host", hostGit(t, host), "clone/\n")
}

// hostGit is the state as git sees it outside the mount.
func hostGit(tb testing.TB, dir string) string {
	cmd := group(exec.CommandContext(tb.Context(), "git", "-C", dir, "ls-files", "--others", "--directory"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestHostFilesCanBeMappedAndShowChangesOfTheHost(t *testing.T) {
	needs(t, "python3")
	m, host, _ := sample(t, fuse.Options{})
	file := filepath.Join(host, "MEMORY.md")
	p := bash(t, m, `exec python3 -c '
import mmap, os, sys
f = open(os.environ["M"]+"/offices/demo/files/MEMORY.md")
m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
print(m[:].decode().strip(), flush=True)
sys.stdin.readline()
print(open(f.name).read().strip(), flush=True)'`)
	want(t, "mapped", p.line, "remember\n")
	if err := os.WriteFile(file, []byte("something longer\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.wantEnd(t, "something longer\n")
	must(t, m, `cd $M/offices/demo/files; mkdir -p d/e; echo x > d/e/f; mv d/e/f g; rmdir d/e d; chmod 600 g; ln -sf . nope; true`)
	if fi, err := os.Stat(filepath.Join(host, "g")); err != nil || fi.Mode() != 0o600 || fi.Size() != 2 {
		t.Errorf("%v, %v", fi, err)
	}
}

func TestAppendGoesToTheEndAsItIsNow(t *testing.T) {
	m, host, _ := sample(t, fuse.Options{})
	file := filepath.Join(host, "MEMORY.md")
	p := bash(t, m, `exec 3>>$M/offices/demo/files/MEMORY.md; echo one >&3; echo written; read; echo three >&3`)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("two\n"); err != nil {
		t.Fatal(err)
	}
	p.wantEnd(t, "")
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "the file", string(got), "remember\none\ntwo\nthree\n")
}
