package fuse_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mikan/fs"
	"mikan/fs/fuse"
)

// inbox mounts a body file.
func inbox(tb testing.TB, max int) (string, *record) {
	got := &record{}
	return mounted(tb, inboxTree(got, max), fuse.Options{}), got
}

func inboxTree(got *record, max int) *fs.Tree {
	commit := func(_ context.Context, who *fs.Identity, body []byte) error {
		if string(body) == "bad\n" {
			return fs.Errorf(fs.Invalid, "say something else")
		}
		got.add(who, string(body))
		return nil
	}
	return newTree(&fs.Dir{Children: map[string]fs.Node{"prompt": &fs.Body{Max: max, Commit: commit}}})
}

const twoLines = "one\ntwo\n"

// writer is a script and the tool that it needs.
type writer struct{ name, tool, script string }

// writers are the ways in which programs write a file of two lines: stdio
// that writes line by line, buffers that are written at the close, descriptors
// that are duplicated before and after, writers in threads, in children.
var writers = []writer{
	{"bash echo", "bash", `echo $'one\ntwo' > $M/prompt`},
	{"bash printf", "bash", `printf 'one\ntwo\n' > $M/prompt`},
	{"bash append", "bash", `printf 'one\ntwo\n' >> $M/prompt`},
	{"bash group", "bash", `{ echo one; echo two; } > $M/prompt`},
	{"bash subshell", "bash", `( echo one; echo two ) > $M/prompt`},
	{"bash loop", "bash", `for i in one two; do echo $i; done > $M/prompt`},
	{"bash descriptor", "bash", `exec 3>$M/prompt; { echo one; echo two; } >&3; exec 3>&-`},
	{"bash exit", "bash", `exec > $M/prompt; echo one; echo two`},
	{"bash pipe to cat", "bash", `{ echo one; echo two; } | cat > $M/prompt`},
	{"bash here document", "bash", "cat > $M/prompt <<'E'\none\ntwo\nE"},
	{"bash background", "bash", `{ echo one; echo two; } > $M/prompt & wait`},
	{"dash echo", "dash", `exec dash -c 'echo "one\ntwo" > $M/prompt'`},
	{"dash printf", "dash", `exec dash -c 'printf "one\ntwo\n" > $M/prompt'`},
	{"dash group", "dash", `exec dash -c '{ echo one; echo two; } > $M/prompt'`},
	{"dash here document", "dash", "exec dash -c \"cat > $M/prompt <<'E'\none\ntwo\nE\n\""},
	{"echo", "env", `env echo $'one\ntwo' > $M/prompt`},
	{"cp", "cp", `printf 'one\ntwo\n' > $T/x; cp $T/x $M/prompt`},
	{"tee", "tee", `printf 'one\ntwo\n' | tee $M/prompt > /dev/null`},
	{"dd", "dd", `printf 'one\ntwo\n' | dd of=$M/prompt status=none`},
	{"dd in blocks", "dd", `printf 'one\ntwo\n' | dd of=$M/prompt bs=3 status=none`},
	{"dd with fsync", "dd", `printf 'one\ntwo\n' | dd of=$M/prompt conv=fsync,notrunc status=none`},
	{"sed w", "sed", `printf 'one\ntwo\n' | sed -n "w $M/prompt"`},
	{"awk", "awk", `awk 'BEGIN { f=ENVIRON["M"] "/prompt"; print "one" > f; print "two" > f }'`},
	{"awk with close", "awk", `awk 'BEGIN { f=ENVIRON["M"] "/prompt"; print "one\ntwo" > f; close(f) }'`},
	{"perl", "perl", `perl -e 'open(F,">","$ENV{M}/prompt"); print F "one\n"; print F "two\n"; close F'`},
	{"perl unbuffered", "perl", `perl -e 'open(F,">","$ENV{M}/prompt"); syswrite F,"one\n"; syswrite F,"two\n"'`},
	{"python print", "python3", `python3 -c 'import os; f=open(os.environ["M"]+"/prompt","w"); print("one",file=f); print("two",file=f); f.close()'`},
	{"python line buffered", "python3", `python3 -c 'import os; f=open(os.environ["M"]+"/prompt","w",buffering=1); f.write("one\n"); f.write("two\n")'`},
	{"python os.write", "python3", `python3 -c 'import os; d=os.open(os.environ["M"]+"/prompt",os.O_WRONLY); os.write(d,b"one\n"); os.write(d,b"two\n"); os.close(d)'`},
	{"python dup", "python3", `python3 -c 'import os; d=os.open(os.environ["M"]+"/prompt",os.O_WRONLY); e=os.dup(d); os.close(d); os.write(e,b"one\ntwo\n"); os.close(e)'`},
	{"python thread", "python3", `python3 -c '
import os, threading
f = open(os.environ["M"]+"/prompt","w")
t = threading.Thread(target=lambda: (f.write("one\ntwo\n"), f.close())); t.start(); t.join()'`},
	{"python subprocess", "python3", `python3 -c 'import os,subprocess; f=open(os.environ["M"]+"/prompt","w"); subprocess.run(["printf","one\\ntwo\\n"],stdout=f); f.close()'`},
	{"node sync", "node", `node -e 'require("fs").writeFileSync(process.env.M+"/prompt","one\ntwo\n")'`},
	{"node promise", "node", `node -e 'require("fs").promises.writeFile(process.env.M+"/prompt","one\ntwo\n")'`},
	{"node stream", "node", `node -e 'const s=require("fs").createWriteStream(process.env.M+"/prompt"); s.write("one\n"); s.end("two\n")'`},
	{"rsync", "rsync", `printf 'one\ntwo\n' > $T/x; rsync --inplace $T/x $M/prompt`},
	{"vim", "vim", `vim -u NONE -n -es -c 'set nobackup nowritebackup' -c 'call setline(1,["one","two"])' -c wq $M/prompt </dev/null`},
	{"head", "head", `printf 'one\ntwo\nthree\n' | head -2 > $M/prompt`},
	{"split descriptors", "bash", `bash -c 'echo one; bash -c "echo two"' > $M/prompt`},
}

// late are the writers whose body may come after they are done: the process
// that opened the file leaves before another that writes to it.
var late = map[string]bool{"bash pipe to cat": true, "bash background": true}

func TestEveryWriterMakesExactlyOneBody(t *testing.T) {
	t.Parallel()
	m, got := inbox(t, 0)
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) { w.writesOnce(t, m, got) })
	}
}

func (w writer) writesOnce(t *testing.T, m string, got *record) {
	needs(t, w.tool)
	must(t, m, w.script)
	if n := got.len(); n != 1 && !late[w.name] {
		t.Errorf("%d bodies when the writer was done", n)
	}
	eventually(t, "a body", func() bool { return got.len() > 0 })
	if list := got.taken(); !slices.Equal(list, []string{twoLines}) {
		t.Errorf("bodies %q", list)
	}
}

func TestOpenFileTakesSeveralBodies(t *testing.T) {
	m, got := inbox(t, 0)
	must(t, m, `exec 3>$M/prompt; echo one >&3; echo two >&3; exec 3>&-`)
	if list := got.taken(); !slices.Equal(list, []string{"one\n", "two\n"}) {
		t.Errorf("bodies %q", list)
	}
}

func TestRefusedBodyIsReportedByTheClose(t *testing.T) {
	m, got := inbox(t, 0)
	for _, script := range []string{
		`echo bad | cat > $M/prompt`, `echo bad | tee $M/prompt`, `env echo bad > $M/prompt`,
		`echo bad > $T/x; cp $T/x $M/prompt`, `echo bad | dd of=$M/prompt status=none`,
	} {
		if r := sh(t, m, script); r.code == 0 || !strings.Contains(r.err, "Invalid argument") {
			t.Errorf("%s: exit %d: %s", script, r.code, r.err)
		}
	}
	if n := got.len(); n != 0 {
		t.Errorf("%d bodies", n)
	}
}

func TestBodyOfManyRequestsIsOne(t *testing.T) {
	m, got := inbox(t, 0)
	must(t, m, `head -c 1000000 /dev/zero | tr '\0' x > $M/prompt`)
	want(t, "length of the bodies", fmt.Sprint(lengths(got.taken())), "[1000000]")
}

func TestBodyThatIsTooLongIsNotCutShort(t *testing.T) {
	m, got := inbox(t, 200_000)
	for _, script := range []string{
		`head -c 300000 /dev/zero | tr '\0' x > $T/x; cat $T/x > $M/prompt`,
		`cp $T/x $M/prompt`, `dd if=$T/x of=$M/prompt bs=1M`,
	} {
		if r := sh(t, m, `head -c 300000 /dev/zero | tr '\0' x > $T/x; `+script); r.code == 0 {
			t.Errorf("%s succeeded", script)
		}
	}
	must(t, m, `echo end > $M/prompt`)
	want(t, "length of the bodies", fmt.Sprint(lengths(got.taken())), "[4]")
}

func lengths(list []string) (n []int) {
	for _, s := range list {
		n = append(n, len(s))
	}
	return n
}

func TestWritersWhoseNumberIsUnknownMakeOneBodyToo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes a pid namespace and mounts in it")
	}
	m := t.TempDir()
	cmd := child(t.Context(), "inbox", m)
	// All that is outside of its pid namespace has the number 0 for it.
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	srv := start(t, cmd)
	for _, script := range []string{
		// Each echo has the file, and closes it when it ends.
		`{ env echo one; env echo two; } > $M/prompt`,
		`bash -c 'env echo one; bash -c "echo two"' > $M/prompt`,
	} {
		must(t, m, script)
		if line, err := srv.out.ReadString('\n'); line != "0 \"one\\ntwo\\n\"\n" {
			t.Errorf("%s: body %s, %v", script, line, err)
		}
	}
	srv.in.Close()
	if rest, err := io.ReadAll(srv.out); len(rest) > 0 {
		t.Errorf("and %s, %v", rest, err)
	}
}
