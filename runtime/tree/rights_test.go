package tree_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"9fans.net/go/plan9"
	"9fans.net/go/plan9/client"

	mfs "mikan/fs"
	"mikan/fs/fuse"
	"mikan/fs/ninep"
	"mikan/wire"
)

// theHook is what a guest may use, and hookDir where it lies.
const (
	hookDir = "offices/local/a/hooks"
	theHook = hookDir + "/" + wire.HookResult
)

// guest is one who was given the right to answer theHook, and nothing else.
func guest(t *testing.T) *mfs.Identity { return guestOf(t, theHook) }

// guestOf is one who was given the right to serve a file, and nothing else.
func guestOf(t *testing.T, name string) *mfs.Identity {
	t.Helper()
	rights, err := mfs.ParseRights(name + " rw\n")
	if err != nil {
		t.Fatal(err)
	}
	return &mfs.Identity{Name: "guest", UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), Rights: rights}
}

// everything is the path of every file of the tree, unlisted ones too, and of
// bodies that somebody might hold.
func (l *lab) everything() (names []string) {
	l.Helper()
	add := func(dir string, p wire.Place) {
		for _, f := range wire.FilesAt(p) {
			if f.Hidden {
				names = append(names, path.Join(dir, f.Name))
			}
		}
	}
	add("", wire.PlaceRoot)
	add("platforms/main", wire.PlaceDesk)
	add("platforms/main/tools/weather", wire.PlaceDeskTool)
	for _, office := range []string{"offices/local/a", "offices/local/b"} {
		add(office, wire.PlaceOffice)
		add(office+"/hooks", wire.PlaceHooks)
		add(office+"/sessions/main", wire.PlaceSession)
		add(office+"/tools/weather", wire.PlaceTool)
		names = append(names, office+"/hooks/.body", office+"/hooks/.body/2", office+"/hooks/.body/01")
	}
	l.walk("", func(name string, _ mfs.Info) { names = append(names, name) })
	return names
}

// question makes office a's agent ask the hook about a result that does not fit
// into a line.
func (l *lab) question() {
	l.Helper()
	l.put("offices/local/a/ctl", "prompt $ seq 3000\n")
}

// onTheWay reports whether name is the hook or a directory that leads there.
func onTheWay(name string) bool { return leadsTo(name, theHook) }

// leadsTo reports whether name is a file or a directory that leads there.
func leadsTo(name, file string) bool { return name == file || strings.HasPrefix(file, name+"/") }

// tryAll tries all that can be tried on a file, and returns what worked.
func (l *lab) tryAll(c *mfs.Client, name string) (worked []string) {
	l.Helper()
	try := func(what string, err error) {
		if err == nil {
			worked = append(worked, what)
		}
	}
	for what, how := range map[string]mfs.Flags{"r": mfs.Read, "w": mfs.Write, "rw": mfs.Read | mfs.Write, "trunc": mfs.Write | mfs.Truncate} {
		f, err := c.Open(l.ctx(), name, how)
		if err == nil {
			f.Close()
		}
		try("open "+what, err)
	}
	// A directory's size may be set to 0, which changes nothing.
	size, mode, now := int64(1), mfs.FileMode(0o777), time.Now()
	for _, change := range []mfs.Change{{Size: &size}, {Mode: &mode}, {MTime: &now}} {
		try("change", c.Change(l.ctx(), name, change))
	}
	try("rename", c.Rename(l.ctx(), name, "another"))
	try("rename to the hook", c.Rename(l.ctx(), name, wire.HookResult))
	try("remove", c.Remove(l.ctx(), name))
	try("mkdir", c.Mkdir(l.ctx(), name+"/new", 0o777))
	f, err := c.Create(l.ctx(), name+"/new", 0o666, mfs.Write)
	if err == nil {
		f.Close()
	}
	try("create", err)
	return worked
}

func TestRights_for_one_hook_open_nothing_else(t *testing.T) {
	for front, dial := range map[string]func(l *lab, who *mfs.Identity) *mfs.Client{
		"in process": (*lab).client, "9p": (*lab).dial,
	} {
		t.Run(front, func(t *testing.T) {
			l := newLab(t)
			c := dial(l, guest(t))
			for _, name := range l.everything() {
				_, err := c.Stat(l.ctx(), name)
				if onTheWay(name) != (err == nil) || err != nil && !errors.Is(err, mfs.NotExist) {
					t.Errorf("stat %s: %v", name, err)
				}
				if name == theHook {
					continue
				}
				var want []string
				if onTheWay(name) {
					want = []string{"open r"} // to be listed
				}
				if worked := l.tryAll(c, name); !slices.Equal(worked, want) {
					t.Errorf("%s: %q worked; want %q", name, worked, want)
				}
			}
			for dir, next := path.Split(theHook); dir != ""; dir, next = path.Split(strings.TrimSuffix(dir, "/")) {
				list, err := c.ReadDir(l.ctx(), strings.TrimSuffix(dir, "/"))
				if len(list) > 1 || len(list) == 1 && list[0].Name != next || err != nil {
					t.Errorf("%s lists %v, %v", dir, list, err)
				}
			}
			// What it tried has changed nothing.
			if _, err := l.root.Stat(l.ctx(), theHook); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRights_for_a_hook_open_the_bodies_that_it_holds(t *testing.T) {
	l := newLab(t)
	c, twin, alone := l.dial(guest(t)), l.dial(guest(t)), l.client(guest(t))
	f, err := c.Open(l.ctx(), theHook, mfs.Read|mfs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l.question()
	buf := make([]byte, mfs.MaxRequestLine)
	n, err := f.ReadContext(l.ctx(), buf)
	if err != nil {
		t.Fatal(err)
	}
	request, err := mfs.ParseRequestLine(buf[:n])
	if err != nil || !request.HasBody() {
		t.Fatalf("%s: %v", buf[:n], err)
	}
	body := path.Join(hookDir, mfs.BodyPath(request.Tag))
	for name, other := range map[string]*mfs.Client{"another with the same rights": twin, "one in process": alone} {
		if worked := l.tryAll(other, body); len(worked) > 0 {
			t.Errorf("%s: %q worked", name, worked)
		}
	}
	data, err := c.ReadFile(l.ctx(), body)
	if err != nil || !strings.Contains(string(data), `2999`) {
		t.Errorf("the body has %d bytes, %v", len(data), err)
	}
	for _, way := range [][]string{
		{"..", ".."}, {"..", "tool_call"}, {"..", "ctl"}, {"..", "..", "ctl"}, {"..", "..", "..", "b"},
		{"..", "..", "..", "..", "..", "settings.json"}, {"..", ".body", fmt.Sprint(request.Tag + 1)}, {"nothing"},
	} {
		from, err := c.Walk(l.ctx(), path.Dir(body))
		if err != nil {
			t.Fatal(err)
		}
		at, err := from.Walk(l.ctx(), way...)
		if err == nil && strings.Trim(strings.Join(way, "/"), "./") != "" {
			t.Errorf("walked from the body to %q", way)
		}
		if err == nil {
			if err := at.Open(l.ctx(), mfs.Write); err == nil {
				t.Errorf("opened %q", way)
			}
			_ = at.Clunk(l.ctx())
		}
		_ = from.Clunk(l.ctx())
	}
	if err := c.WriteFile(l.ctx(), body, []byte(strings.ReplaceAll(string(data), "2999", "two thousand"))); err != nil {
		t.Error(err)
	}
	if _, err := f.WriteContext(l.ctx(), fmt.Appendf(nil, "%d replace\n", request.Tag)); err != nil {
		t.Error(err)
	}
	if got := l.get("offices/local/a/sessions/main/reply"); !strings.Contains(got, "2998\ntwo thousand\n3000\n") {
		t.Errorf("the answer is %d bytes: %.80q", len(got), got)
	}
	if worked := l.tryAll(c, body); len(worked) > 0 {
		t.Errorf("after the answer %q worked", worked)
	}
}

// A foreign client chooses its words freely: what it calls itself, what it
// attaches to.
func TestRights_are_the_connections_whatever_an_attach_asks_for(t *testing.T) {
	l := newLab(t)
	conn, err := client.NewConn(l.connect(guest(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, aname := range []string{"offices/local/b", "..", theHook} {
		if _, err := conn.Attach(nil, "root", aname); err == nil {
			t.Errorf("attached to %q", aname)
		}
	}
	for _, uname := range []string{"root", "owner", "", fmt.Sprint(os.Getuid())} {
		fsys, err := conn.Attach(nil, uname, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range l.everything() {
			if onTheWay(name) {
				continue
			}
			if fid, err := fsys.Open(name, plan9.OREAD); err == nil {
				t.Errorf("%s opened %s", uname, name)
				fid.Close()
			}
		}
	}
}

func TestRights_that_expire_end_the_listener_and_its_question(t *testing.T) {
	l := newLab(t)
	who := guest(t)
	who.Until = time.Now().Add(1500 * time.Millisecond)
	c := l.dial(who)
	f, err := c.Open(l.ctx(), theHook, mfs.Read|mfs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l.put(hookDir+"/ctl", "timeout tool_result 2s\n")
	l.question()
	buf := make([]byte, mfs.MaxRequestLine)
	if _, err := f.ReadContext(l.ctx(), buf); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadContext(l.ctx(), buf); !errors.Is(err, mfs.Permission) || time.Now().Before(who.Until) {
		t.Errorf("the read that waits: %v", err)
	}
	if _, err := f.WriteContext(l.ctx(), []byte("1 allow\n")); !errors.Is(err, mfs.Permission) {
		t.Errorf("an answer: %v", err)
	}
	for _, name := range []string{theHook, hookDir + "/.body/1", "offices"} {
		if _, err := c.Stat(l.ctx(), name); !errors.Is(err, mfs.Permission) {
			t.Errorf("stat %s: %v", name, err)
		}
	}
	if got := l.get("offices/local/a/sessions/main/reply"); !strings.Contains(got, "2999\n3000\n") {
		t.Errorf("the run has not gone on by policy: %.80q", got)
	}
	began := time.Now()
	l.question()
	l.get("offices/local/a/sessions/main/reply")
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("who has no rights was asked, for %v", took)
	}
	if got := l.get(hookDir + "/ctl"); !strings.Contains(got, "tool_result optional timeout 2s only all listeners 0 failed 1\n") {
		t.Errorf("hooks/ctl:\n%s", got)
	}
}

// tryScript tries each path that it reads, and prints what works.
const tryScript = `cd "$M"
while read -r f; do
	for how in '<' '>>' '<>' '>'; do
		# in a shell of its own: a failed exec ends it
		( eval "exec 4$how\"\$f\"" ) 2>/dev/null && test ! -d "$f" && echo "$f opens with $how"
	done
	test -d "$f" && echo "$f lists: $(ls -A "$f" 2>/dev/null | tr '\n' ' ')"
	mkdir "$f/new" 2>/dev/null && echo "$f mkdir"
	mv "$f" "$f.moved" 2>/dev/null && echo "$f mv"
	chmod 777 "$f" 2>/dev/null && echo "$f chmod"
	ln -s / "$f/link" 2>/dev/null && echo "$f link"
	rm -df "$f" 2>/dev/null && test -n "$(stat "$f" 2>&1 >/dev/null)" && stat "$f/.." >/dev/null 2>&1 && echo "$f rm"
done
exec 3<>` + theHook + `
echo open
read -r tag req <&3
wc -c < ` + hookDir + `/.body/$tag
( exec 4<` + hookDir + `/.body/../ctl ) 2>/dev/null && echo dots
mv ` + hookDir + `/.body/$tag ` + hookDir + `/.body/other 2>/dev/null && echo moved
echo "$tag deny by the guest" >&3
( exec 4<` + hookDir + `/.body/$tag ) 2>/dev/null && echo still there
:`

func TestRights_for_one_hook_open_nothing_else_through_a_mount(t *testing.T) {
	if err := fuse.Available(fuse.Options{}); err != nil {
		t.Skip("no FUSE here:", err)
	}
	l := newLab(t)
	conn, err := ninep.Connect(l.ctx(), l.connect(guest(t)), "9P2000.L")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	dir := t.TempDir()
	m, err := fuse.Mount(dir, conn, fuse.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}()
	var paths []string
	for _, name := range l.everything() {
		if name != theHook {
			paths = append(paths, name)
		}
	}
	list := filepath.Join(t.TempDir(), "paths")
	if err := os.WriteFile(list, []byte(strings.Join(paths, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script := exec.CommandContext(l.ctx(), "bash", "-c", tryScript)
	script.Dir, script.Env = "/", append(os.Environ(), "M="+dir)
	script.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	script.Cancel = func() error { return syscall.Kill(-script.Process.Pid, syscall.SIGKILL) }
	script.WaitDelay = time.Second
	if script.Stdin, err = os.Open(list); err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() { // as soon as the script listens
		defer close(asked)
		for ctx := l.ctx(); ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
			if data, err := l.root.ReadFile(ctx, hookDir+"/ctl"); err == nil && strings.Contains(string(data), "all listeners 1 ") {
				if err := l.root.WriteFile(ctx, "offices/local/a/ctl", []byte("prompt $ seq 3000\n")); err != nil {
					t.Error(err)
				}
				return
			}
		}
	}()
	out, err := script.CombinedOutput()
	<-asked
	if err != nil {
		t.Errorf("%v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	want := []string{
		"offices lists: local ", "offices/local lists: a ", "offices/local/a lists: hooks ", "offices/local/a/hooks lists: ", "open",
	}
	var size int
	lines = slices.DeleteFunc(lines, func(s string) bool { n, _ := fmt.Sscanf(s, "%d", &size); return n == 1 })
	if !slices.Equal(lines, want) || size < 3000 {
		t.Errorf("a body of %d bytes; what worked: %q; want %q", size, lines, want)
	}
	if got := l.get("offices/local/a/sessions/main/reply"); !strings.Contains(got, "by the guest") {
		t.Errorf("the answer: %.80q", got)
	}
}
