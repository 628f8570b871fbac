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

// tool is a program and a script in which it reads or changes the file $F.
type tool struct{ name, program, script string }

// readers are the ways in which programs read a file: whole, in blocks, by
// lines, from the end, by its size, through a copy.
var readers = []tool{
	{"cat", "cat", `cat $F`},
	{"cp", "cp", `cp $F $T/out; cat $T/out`},
	{"cp -a", "cp", `cp -a $F $T/out; cat $T/out; stat -c '%s %a' $T/out`},
	{"install", "install", `install -m 600 $F $T/out; cat $T/out`},
	{"dd", "dd", `dd if=$F bs=3 status=none`},
	{"dd skip", "dd", `dd if=$F bs=4 skip=1 count=2 status=none`},
	{"tail -n +1", "tail", `tail -n +1 $F`},
	{"tail -n 1", "tail", `tail -n 1 $F`},
	{"tail -c 5", "tail", `tail -c 5 $F`},
	{"head", "head", `head -n 2 $F; head -c -4 $F`},
	{"sha256sum", "sha256sum", `sha256sum < $F`},
	{"od", "od", `od -c -j 2 $F`},
	{"split", "split", `split -l 1 $F $T/part; cat $T/part*; ls $T | grep -c part`},
	{"split in parts", "split", `split -n 3 $F $T/part; cat $T/part*`},
	{"less", "less", `less -FX $F < /dev/null | cat`},
	{"vim", "vim", `vim -u NONE -n -es -R -c '%print' -c qa! $F < /dev/null`},
	{"jq", "jq", `jq -R . $F`},
	{"python3", "python3", `python3 -c 'import os; print(open(os.environ["F"]).readlines())'`},
	{"python3 shutil", "python3", `python3 -c 'import os, shutil; shutil.copy(os.environ["F"], os.environ["T"]+"/out")'; cat $T/out`},
	{"python3 seek", "python3", `python3 -c 'import os; f=open(os.environ["F"],"rb"); print(f.seek(-4,2), f.read(), f.seek(1), f.read(2))'`},
	{"node", "node", `node -e 'process.stdout.write(require("fs").readFileSync(process.env.F))'`},
	{"node stream", "node", `node -e 'require("fs").createReadStream(process.env.F).pipe(process.stdout)'`},
	{"perl", "perl", `perl -ne 'print "$.:$_"' $F`},
	{"bash $(<)", "bash", `echo "$(<$F)"`},
	{"bash source", "bash", `sed 's/^/say /' $F > $T/copy; say() { echo "said $*"; }; source $T/copy; eval "$(sed 's/^/say /' $F)"`},
	{"bash mapfile", "bash", `mapfile -t all < $F; echo "${#all[@]} ${all[1]}"`},
	{"while read", "bash", `while read -r line; do echo "[$line]"; cat /dev/null; done < $F`},
	{"dash while read", "dash", `dash -c 'while read -r line; do echo "[$line]"; done < $F'`},
	{"grep", "grep", `grep -n o $F; grep -c . $F`},
	{"grep -r", "grep", `grep -rh two $F`},
	{"wc", "wc", `wc < $F; wc -c < $F`},
	{"rsync", "rsync", `rsync $F $T/out; cat $T/out`},
	{"rsync -a", "rsync", `rsync -a $F $T/out; cat $T/out; rsync -ai $F $T/out`},
	{"tar", "tar", `tar -C $(dirname $F) -cf $T/x.tar $(basename $F); tar -xOf $T/x.tar; tar -tvf $T/x.tar | awk '{print $3}'`},
	{"cmp", "cmp", `cat $F > $T/copy; cmp $F $T/copy && echo same; echo more >> $T/copy; cmp -s $F $T/copy || echo other`},
	{"diff", "diff", `echo two > $T/copy; diff $F $T/copy | grep -c '^<'`},
	{"test -s", "test", `test -s $F && echo is not empty; test -r $F && echo is readable`},
	{"find -size", "find", `find $F -type f -size -10 -size +0 -printf '%s %y %m\n'`},
	{"file", "file", `file -b $F`},
	{"stat", "stat", `stat -c '%s %h %F' $F`},
	{"rg", "rg", `rg -N . $F`},
	{"awk", "awk", `awk '{ n += length($0); print NR, $0 } END { print n }' $F`},
	{"mawk", "mawk", `mawk -W interactive '{ print NR, $0 }' < $F`},
	{"sed", "sed", `sed -n '$p;1p' $F`},
	{"sort", "sort", `sort -r $F`},
	{"tac", "tac", `tac $F`},
	{"xargs", "xargs", `xargs -a $F echo`},
	{"git hash-object", "git", `git hash-object $F`},
	{"tail -f", "tail", `timeout 0.3 tail -n +1 -s 0.05 -f $F; :`},
	{"tail -F", "tail", `timeout 0.3 tail -n 1 -s 0.05 -F $F; :`},
}

// changers are the ways in which programs change one.
var changers = []tool{
	{"echo >", "bash", `echo new > $F`},
	{"echo >>", "bash", `echo new >> $F`},
	{"cat >", "cat", `printf 'a\nb\n' | cat > $F`},
	{"tee -a", "tee", `echo new | tee -a $F > /dev/null`},
	{"cp", "cp", `echo new > $T/new; cp $T/new $F`},
	{"dd", "dd", `echo new | dd of=$F status=none`},
	{"dd in place", "dd", `printf X | dd of=$F bs=1 seek=1 conv=notrunc status=none`},
	{"truncate", "truncate", `truncate -s 5 $F`},
	{"sed -i", "sed", `sed -i s/two/2/ $F`},
	{"perl -i", "perl", `perl -pi -e s/two/2/ $F`},
	{"vim :w", "vim", `vim -u NONE -n -es -c s/three/3/ -c w -c q $F < /dev/null`},
	{"vim :w with a backup", "vim", `vim -u NONE -n -es -c 'set backup writebackup backupcopy=no' -c s/three/3/ -c w -c q $F < /dev/null; rm -f $F~`},
	{"rsync", "rsync", `echo new > $T/new; rsync $T/new $F`},
	{"rsync --inplace", "rsync", `echo new > $T/new; rsync --inplace $T/new $F`},
	{"tmp and mv", "mv", `tr a-z A-Z < $F > $F.tmp && mv $F.tmp $F`},
	{"python3", "python3", `python3 -c 'import os; f=open(os.environ["F"],"r+"); s=f.read(); f.seek(0); f.write(s.upper()); f.close()'`},
	{"python3 replace", "python3", `python3 -c 'import os; n=os.environ["F"]; open(n+".tmp","w").write("new\n"); os.replace(n+".tmp", n)'`},
	{"node", "node", `node -e 'require("fs").writeFileSync(process.env.F, "new\n")'`},
	{"node append", "node", `node -e 'require("fs").appendFileSync(process.env.F, "new\n")'`},
	{"ed", "ed", `printf '2d\nw\nq\n' | ed -s $F`},
}

const threeLines = "one\ntwo\nthree\n"

// on runs the script of a tool on a file, and returns what it printed.
func (x tool) on(t *testing.T, file string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := group(exec.CommandContext(ctx, "bash", "-c", x.script))
	cmd.Env = append(shellEnv(t, ""), "F="+file, "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s", x.script, err, out)
	}
	return string(out)
}

// plain is a file of the host.
func plain(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(threeLines), 0o640); err != nil {
		t.Fatal(err)
	}
	return name
}

// toolTree has a file of three lines of each kind that is read like a file.
func toolTree(t *testing.T) (mount, host string) {
	host = t.TempDir()
	if err := os.WriteFile(filepath.Join(host, "file"), []byte(threeLines), 0o640); err != nil {
		t.Fatal(err)
	}
	c, log := newCell(threeLines), &growing{}
	for line := range strings.Lines(threeLines) {
		log.add(line)
	}
	dir := func(n fs.Node) fs.Node {
		return &fs.Dir{Mode: 0o755, Scratch: true, Children: map[string]fs.Node{"file": n}}
	}
	return mounted(t, newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"value": dir(&fs.Value{Get: c.get, Set: c.set}),
		"log":   dir(&fs.Log{Mode: 0o640, Source: log}),
		"ctl":   dir(&fs.Ctl{Mode: 0o640, State: c.get}),
		"host":  fs.NewHostDir(host),
	}}), fuse.Options{}), host
}

// What a program makes of a file of the tree is what it makes of any other.
func TestToolsReadTheTreeAsTheyReadADisk(t *testing.T) {
	t.Parallel()
	m, _ := toolTree(t)
	for _, tool := range readers {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.program)
			expected := tool.on(t, plain(t))
			if expected == "" {
				t.Error("it prints nothing of a file on the disk")
			}
			for _, kind := range []string{"value", "log", "ctl", "host"} {
				want(t, kind, tool.on(t, m+"/"+kind+"/file"), expected)
			}
		})
	}
}

func TestToolsChangeTheTreeAsTheyChangeADisk(t *testing.T) {
	t.Parallel()
	for _, tool := range changers {
		t.Run(tool.name, func(t *testing.T) {
			t.Parallel()
			needs(t, tool.program)
			file := plain(t)
			tool.on(t, file)
			expected, err := os.ReadFile(file)
			if err != nil || string(expected) == threeLines {
				t.Fatalf("on a disk it leaves %q, %v", expected, err)
			}
			m, host := toolTree(t)
			for _, kind := range []string{"value", "host"} {
				tool.on(t, m+"/"+kind+"/file")
				want(t, kind, must(t, m, `cat $M/`+kind+`/file; ls -A $M/`+kind), string(expected)+"file\n")
			}
			if left, err := os.ReadDir(host); err != nil || len(left) != 1 {
				t.Errorf("%v is left, %v", left, err)
			}
		})
	}
}

// install(1) removes what stands in the place of the new file, and a value
// cannot be removed: the name is fixed.
func TestInstallSaysThatAValueIsNotRemoved(t *testing.T) {
	needs(t, "install")
	m, _ := toolTree(t)
	r := sh(t, m, `echo new > $T/new; install $T/new $M/value/file`)
	if r.code == 0 || !strings.Contains(r.err, "Operation not permitted") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	want(t, "content", must(t, m, `cat $M/value/file`), threeLines)
}

// A copier of whole trees ends, and copies all.
func TestToolsCopyWholeDirectories(t *testing.T) {
	t.Parallel()
	m, _ := toolTree(t)
	for _, tool := range []tool{
		{"cp -r", "cp", `cp -r $F $T/copy`}, {"cp -a", "cp", `cp -a $F $T/copy`}, {"rsync -a", "rsync", `rsync -a $F/ $T/copy`},
		{"tar", "tar", `mkdir $T/copy; tar -C $F -cf - . | tar -C $T/copy -xf -`},
		{"python3 copytree", "python3", `python3 -c 'import os, shutil; shutil.copytree(os.environ["F"], os.environ["T"]+"/copy")'`},
	} {
		t.Run(tool.name, func(t *testing.T) {
			needs(t, tool.program)
			tool.script += `; cd $T/copy; cat */file; find . | wc -l; diff -r $F $T/copy; grep -r two . | wc -l; rg -c two | wc -l`
			want(t, "copies", tool.on(t, m), strings.Repeat(threeLines, 4)+"9\n4\n4\n")
		})
	}
}

// A value cannot be mapped into memory; a file of the host can, see
// TestHostFilesCanBeMappedAndShowChangesOfTheHost.
func TestValuesCannotBeMapped(t *testing.T) {
	needs(t, "python3")
	m, _ := toolTree(t)
	r := sh(t, m, `python3 -c 'import mmap, sys; f=open(sys.argv[1],"rb"); print(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[:3])' $M/value/file`)
	if r.code == 0 || !strings.Contains(r.err, "No such device") {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}
