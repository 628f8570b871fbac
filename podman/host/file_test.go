package host_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mikan/podman/host"
)

func TestFault_S1_hostile_names_end_in_an_error(t *testing.T) {
	o := newOffice(t, host.None)
	outside := filepath.Join(o.dir, "outside")
	put(t, filepath.Join(outside, "secret"), "secret")
	mkdir(t, filepath.Join(o.files, "sub"))
	before := tree(t, o.dir)
	for _, name := range []string{
		"", ".", "/", "..", "sub", "../outside/secret", "../../../../../../etc/passwd", "/etc/passwd",
		"sub/../../outside/secret", "/proc/self/environ", "/dev/null", outside + "/secret", outside + "/new",
		o.files + "/../outside/new", "a\x00b", "sub/\x00", strings.Repeat("a", 300), strings.Repeat("a/", 3000),
		strings.Repeat("../", 1300) + "etc/passwd", "\xff\xfe/../../outside/new", o.files + "x/new",
	} {
		check := func(op string, err error) {
			switch {
			case err == nil:
				t.Errorf("%s %.40q succeeded", op, name)
			case len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\n\x00"):
				t.Errorf("%s %.40q: error not fit for a line: %.500q", op, name, err)
			}
		}
		_, err := o.read(t, name)
		check("open", err)
		check("create", o.write(t, name, "x"))
	}
	if after := tree(t, o.dir); after != before {
		t.Errorf("the names left their mark:\n%s\nbefore:\n%s", after, before)
	}
}

func TestFault_S1_odd_names_that_stay_inside_work(t *testing.T) {
	o := newOffice(t, host.None)
	mkdir(t, filepath.Join(o.files, "sub"))
	for _, name := range []string{
		"..．", "．．／x", "sub/../ok", "./sub//x", " ", "-rf", "new/deep/er", "a\nb", "\xff", "日本語.md",
		o.files + "/abs", "../files/back", o.home + "/note", o.files + "/../home/tmp/t", strings.Repeat("é", 127),
	} {
		if err := o.write(t, name, name); err != nil {
			t.Error(err)
		}
		if got, err := o.read(t, name); got != name {
			t.Errorf("%q reads %q, %v", name, got, err)
		}
	}
}

func TestFault_S2_read_write_never_follow_out(t *testing.T) {
	o := newOffice(t, host.None)
	outside := filepath.Join(o.dir, "outside")
	put(t, filepath.Join(outside, "secret"), "secret")
	for name, target := range map[string]string{
		"existing":      filepath.Join(outside, "secret"),
		"relative":      "../outside/secret",
		"dangling":      filepath.Join(outside, "new"),
		"reldangling":   "../outside/new",
		"dir":           outside,
		"chain":         "existing",
		"updown":        "sub/../../outside/secret",
		"self":          "self",
		"proc":          "/proc/self/cwd",
		"besides":       o.files + "/../outside/new",
		"almost":        o.files + "side",
		"sub/upandaway": "../../outside/new",
	} {
		mkdir(t, filepath.Join(o.files, "sub"))
		link(t, target, filepath.Join(o.files, name))
	}
	before := tree(t, o.dir)
	for _, name := range []string{
		"existing", "relative", "dangling", "reldangling", "dir/secret", "dir/new", "dir", "chain", "updown", "self",
		"proc/x", "besides", "almost", "sub/upandaway", "sub/../dir/new", "dir/../outside/secret", "existing/x",
	} {
		if got, err := o.read(t, name); err == nil {
			t.Errorf("%s reads %q", name, got)
		}
		if err := o.write(t, name, "overwritten"); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if after := tree(t, o.dir); after != before {
		t.Errorf("written:\n%s\nbefore:\n%s", after, before)
	}
}

// swap exchanges two names again and again until the test ends.
func swap(t *testing.T, a, b string) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
}

func TestFault_S2_links_swapped_in_meanwhile_never_lead_out(t *testing.T) {
	o := newOffice(t, host.None, func(dir string, cfg *host.Config) {
		cfg.Writable = []string{filepath.Join(dir, "files/skills")}
	})
	outside := filepath.Join(o.dir, "outside")
	put(t, filepath.Join(outside, "f"), "secret")
	before := tree(t, outside)

	put(t, filepath.Join(o.files, "dir/f"), "mine")
	link(t, outside, filepath.Join(o.files, "dirlink"))
	put(t, filepath.Join(o.files, "skills/f"), "mine")
	link(t, outside, filepath.Join(o.files, "skillslink"))
	put(t, filepath.Join(o.files, "f"), "mine")
	link(t, filepath.Join(outside, "f"), filepath.Join(o.files, "flink"))
	swap(t, filepath.Join(o.files, "dir"), filepath.Join(o.files, "dirlink"))
	swap(t, filepath.Join(o.files, "skills"), filepath.Join(o.files, "skillslink"))
	swap(t, filepath.Join(o.files, "f"), filepath.Join(o.files, "flink"))

	reads, writes := 0, 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		for _, name := range []string{"dir/f", "skills/f", "f"} {
			got, err := o.read(t, name)
			if err == nil {
				reads++
			}
			if err == nil && got != "mine" {
				t.Fatalf("%s reads %q", name, got)
			}
			if o.write(t, name, "mine") == nil {
				writes++
			}
		}
	}
	if after := tree(t, outside); after != before || get(t, filepath.Join(outside, "f")) != "secret" {
		t.Errorf("written outside:\n%s", after)
	}
	if reads == 0 || writes == 0 {
		t.Errorf("%d reads and %d writes succeeded: nothing was tried", reads, writes)
	}
}

func TestFault_S2_what_is_no_regular_file_is_refused_at_once(t *testing.T) {
	o := newOffice(t, host.None)
	fifo := filepath.Join(o.files, "fifo")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(o.files) // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	l, err := net.Listen("unix", "/proc/self/fd/"+itoa(dir.Fd())+"/socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	link(t, "fifo", filepath.Join(o.files, "link"))
	mkdir(t, filepath.Join(o.files, "sub"))

	atOnce(t, fifo, func() {
		for _, name := range []string{"fifo", "fifo/x", "socket", "link", "sub", "."} {
			if _, err := o.read(t, name); err == nil {
				t.Errorf("%s was opened", name)
			}
			if err := o.write(t, name, "x"); err == nil {
				t.Errorf("%s was replaced", name)
			}
		}
	})
}

func TestFault_S2_fifo_swapped_in_meanwhile_holds_nobody(t *testing.T) {
	o := newOffice(t, host.None)
	fifo, f := filepath.Join(o.files, "fifo"), filepath.Join(o.files, "f")
	put(t, f, "content")
	if err := unix.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	swap(t, fifo, f)
	atOnce(t, fifo, func() {
		opened := 0
		for end := time.Now().Add(time.Second / 2); time.Now().Before(end); {
			if got, err := o.read(t, "f"); err == nil && got == "content" {
				opened++
			}
		}
		if opened == 0 {
			t.Error("it was never opened: nothing was tried")
		}
	})
}

// atOnce runs what must not wait for a FIFO.
func atOnce(t *testing.T, fifo string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return
	case <-time.After(5 * prompt):
		t.Error("still waiting")
	}
	for { // let it go
		if f, err := os.OpenFile(fifo, os.O_RDWR, 0); err == nil {
			defer f.Close()
		}
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func TestCreate_replaces_where_a_link_inside_leads(t *testing.T) {
	o := newOffice(t, host.None)
	put(t, filepath.Join(o.files, "real/f"), "old")
	link(t, "real/f", filepath.Join(o.files, "relative"))
	link(t, filepath.Join(o.files, "real/f"), filepath.Join(o.files, "absolute"))
	link(t, filepath.Join(o.files, "real"), filepath.Join(o.files, "dir"))
	link(t, "real/new", filepath.Join(o.files, "dangling"))
	link(t, filepath.Join(o.home, "f"), filepath.Join(o.files, "home"))
	for name, target := range map[string]string{
		"relative": "files/real/f", "absolute": "files/real/f", "dir/f": "files/real/f",
		"dangling": "files/real/new", "home": "home/f", "dir/../real/f": "files/real/f",
	} {
		if err := o.write(t, name, name); err != nil {
			t.Error(err)
			continue
		}
		if got := get(t, filepath.Join(o.dir, target)); got != name {
			t.Errorf("%s: %s holds %q", name, target, got)
		}
		if got, err := o.read(t, name); got != name {
			t.Errorf("%s reads %q, %v", name, got, err)
		}
	}
	if fi, err := os.Lstat(filepath.Join(o.files, "relative")); err != nil || fi.Mode().Type() != fs.ModeSymlink {
		t.Errorf("the link is now %v, %v", fi, err)
	}
}

func TestCreate_shows_the_new_content_all_at_once(t *testing.T) {
	o := newOffice(t, host.None)
	name := filepath.Join(o.files, "f")
	put(t, name, "old")
	if err := os.Chmod(name, 0o751); err != nil {
		t.Fatal(err)
	}
	held, err := o.Open(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	s, err := o.Create(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(s, "new")
	if got := get(t, name); got != "old" {
		t.Errorf("before the commit: %q", got)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); get(t, name) != "new" || fi.Mode() != 0o751 {
		t.Errorf("after it: %q, %v, %v", get(t, name), fi.Mode(), err)
	}
	if b, err := io.ReadAll(held); string(b) != "old" {
		t.Errorf("who had it open reads %q, %v", b, err)
	}
	s.Discard()
	if err := s.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second commit: %v", err)
	}
	if got := tree(t, o.files); got != "f\n" {
		t.Errorf("left: %s", got)
	}
}

func TestCreate_discarded_leaves_the_old(t *testing.T) {
	o := newOffice(t, host.None)
	put(t, filepath.Join(o.files, "f"), "old")
	s, err := o.Create(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(s, "new")
	s.Discard()
	if err := s.Commit(); err == nil {
		t.Error("commit after discard succeeded")
	}
	if got := tree(t, o.files); got != "f\n" || get(t, filepath.Join(o.files, "f")) != "old" {
		t.Errorf("left: %s", got)
	}
}

func TestOpen_says_what_is_wrong_and_what_to_do(t *testing.T) {
	o := newOffice(t, host.None)
	for name, want := range map[string]string{
		"missing":     "open missing: no such file or directory",
		"/etc/passwd": "open /etc/passwd: outside of what this office may see; use bash to read system files",
		".":           "open .: is a directory",
	} {
		if _, err := o.read(t, name); err == nil || err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	if _, err := o.read(t, "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.Open(ctx, "f"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not Canceled", err)
	}
}

// tree lists what lies below a directory.
func tree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && err == nil {
			b.WriteString(strings.TrimPrefix(path, dir+"/") + "\n")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
