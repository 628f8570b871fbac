package e2e

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"mikan/fs"
	"mikan/fs/ninep"
	"mikan/wire"
)

// nobody is the number of a user and a group that own nothing.
const nobody = 65534

// person is nobody, perhaps with the daemon's group.
type person struct {
	name   string
	groups []int
	class  uint // how far to shift a mode for his bits
}

var persons = []person{{"a stranger", nil, 0}, {"a member of the group", []int{0}, 3}}

// become is the beginning of a command line that makes it his.
func (p person) become() []string {
	argv := []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}
	if len(p.groups) > 0 {
		argv[3] = "--groups=0"
	}
	return argv
}

// theTree is every path of the tree that the table has, with its mode, but for what
// is not there in an office that has just been made: a task.
func theTree() map[string]os.FileMode {
	here := strings.NewReplacer("<platform>", "local", "<conversation>", "demo", "<name>", "main", "<tool>", "weather")
	modes := map[string]os.FileMode{".": 0o750 | os.ModeDir} // as all directories
	for _, f := range wire.TreeFiles {
		mode := os.FileMode(f.Mode)
		if f.Kind == "dir" {
			mode |= os.ModeDir
		}
		if name := here.Replace(path.Join(string(f.Place), f.Name)); !strings.Contains(name, "<") {
			modes[name] = mode
		}
	}
	return modes
}

// may reports what a person may do by the mode bits of a file and of those on
// the way to it.
func (p person) may(modes map[string]os.FileMode, name string, want os.FileMode) bool {
	for dir := path.Dir(name); name != "."; dir = path.Dir(dir) {
		if modes[dir]>>p.class&1 == 0 {
			return false
		}
		if dir == "." {
			break
		}
	}
	return modes[name]>>p.class&want == want
}

// expected is a line for each path: what may be done with it.
func (p person) expected() string {
	var lines []string
	modes := theTree()
	for name, mode := range modes {
		line := name
		for _, try := range []struct {
			letter string
			bit    os.FileMode
		}{{"r", 4}, {"w", 2}, {"x", 1}} {
			if (try.letter != "x" || mode.IsDir()) && p.may(modes, name, try.bit) {
				line += " " + try.letter
			}
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

func (w *world) letOthersIn() {
	w.Helper()
	for dir := w.dir; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			w.Fatal(err)
		}
	}
}

// tryPaths tries each path in the directory $M, and prints what is not refused:
// to open a file, to list a directory, to make something in it, to go through it.
const tryPaths = `cd / && while read -r f; do
	may=
	try() { local said; said=$( "$@" 2>&1 ) || case $said in *'Permission denied'*) return 1;; esac; }
	reading() { exec 4<"$M/$f"; }
	writing() { exec 4>>"$M/$f"; }
	if [[ $f == */ ]]; then
		f=${f%/}
		try ls "$M/$f/" && may+=' r'
		try mkdir "$M/$f/made" && may+=' w'
		try stat "$M/$f/README" && may+=' x'
	else
		try reading && may+=' r'
		try writing && may+=' w'
	fi
	echo "$f$may"
done`

func TestPermission_on_the_mount_is_what_the_mode_bits_say(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needs(t, "setpriv")
	w := newWorld(t)
	w.letOthersIn()
	w.serve("--allow-other")
	w.must(`mkdir -p $D $M/platforms/main $D/tools/weather $M/platforms/main/tools/weather`)
	var paths []string
	for name, mode := range theTree() {
		if mode.IsDir() {
			name += "/"
		}
		paths = append(paths, name)
	}
	w.write(w.dir+"/paths", strings.Join(paths, "\n")+"\n")
	if err := os.Chmod(w.dir+"/paths", 0o644); err != nil {
		t.Fatal(err)
	}
	before := w.must(`cd $M; ls -lR; cat offices/local/demo/log`)
	for _, p := range persons {
		got := w.run(append(p.become(), "bash", "-c", "("+tryPaths+`) < $T/paths | LC_ALL=C sort`)...).ok(t).out
		want(t, p.name, got, p.expected())
	}
	want(t, "the tree", w.must(`cd $M; ls -lR; cat offices/local/demo/log`), before)
}

// as does something in a thread that is a person's, and ends with it: the kernel
// tells the server whose it is when it connects.
func (p person) as(do func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		done <- errors.Join(p.take(), do())
	}()
	return <-done
}

// take gives the thread to him, and not the process, as package syscall would.
func (p person) take() error {
	group := uint32(0) // the only one that a person has
	for _, call := range [][4]uintptr{
		{unix.SYS_SETGROUPS, uintptr(len(p.groups)), uintptr(unsafe.Pointer(&group))},
		{unix.SYS_SETRESGID, nobody, nobody, nobody},
		{unix.SYS_SETRESUID, nobody, nobody, nobody},
	} {
		if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
			return fmt.Errorf("become nobody: %w", errno)
		}
	}
	return nil
}

func TestPermission_on_the_socket_is_what_the_mode_bits_say(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	w := newWorld(t)
	w.letOthersIn()
	w.env = []string{"NAMESPACE=" + w.dir}
	w.serve9P("--socket-mode", "0666")
	w.must(`mikan mkdir offices/local/demo platforms/main offices/local/demo/tools/weather platforms/main/tools/weather`)
	for _, p := range persons {
		var c *fs.Client
		if err := p.as(func() (err error) { c, err = ninep.Dial(t.Context(), w.dir+"/mikan"); return err }); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for name, mode := range theTree() {
			lines = append(lines, name+w.tries(c, name, mode))
		}
		slices.Sort(lines)
		want(t, p.name, strings.Join(lines, "\n")+"\n", p.expected())
		c.Close()
	}
	wantAll(t, "the state directory's socket", w.run(append(persons[0].become(), bin+"/mikan", "--help")...).ok(t).out, "Usage")
	if r := w.run(append(persons[1].become(), "env", "MIKAN_SOCKET="+w.socket(), bin+"/mikan", "ls")...); r.code == 0 {
		t.Errorf("the state directory let him in: %s", r.out)
	}
}

// tries does what tryPaths does.
func (w *world) tries(c *fs.Client, name string, mode os.FileMode) (may string) {
	ctx := w.Context()
	try := func(letter string, err error) {
		if !errors.Is(err, fs.Permission) {
			may += letter
		}
	}
	if mode.IsDir() {
		_, err := c.ReadDir(ctx, name)
		try(" r", err)
		try(" w", c.Mkdir(ctx, name+"/made", 0o755))
		_, err = c.Stat(ctx, name+"/README")
		try(" x", err)
		return may
	}
	opens := func(how fs.Flags) error {
		f, err := c.Open(ctx, name, how)
		if err == nil {
			f.Close()
		}
		return err
	}
	try(" r", opens(fs.Read))
	try(" w", opens(fs.Write))
	return may
}

// By default only the owner gets in, on both fronts.
func TestPermission_others_are_kept_out_by_default(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needs(t, "setpriv")
	w := newWorld(t)
	w.letOthersIn()
	w.env = []string{"NAMESPACE=" + w.dir}
	w.serve()
	for _, p := range persons {
		for _, script := range []string{`ls $M`, `cat $M/README`, `NAMESPACE=$T MIKAN_SOCKET= mikan ls`} {
			if r := w.run(append(p.become(), "bash", "-c", script)...); r.code == 0 || !strings.Contains(strings.ToLower(r.err), "permission denied") {
				t.Errorf("%s: %s: exit %d: %s%s", p.name, script, r.code, r.out, r.err)
			}
		}
	}
}
