package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mikan/fs/fuse"
)

// world is one user's machine: where a daemon keeps its things, and the
// environment that it and its clients have.
type world struct {
	testing.TB
	dir       string // everything below, and scratch
	state     string
	workspace string
	mount     string
	env       []string // of the daemon, beside PATH and HOME
	last      *daemon  // the one that was started last
}

// demoSettings choose the built-in model, which runs the lines behind "$ ".
const demoSettings = `{"llm":{"provider":"demo","model":"echo"}}`

// newWorld makes a world whose model is demo/echo.
func newWorld(tb testing.TB) *world {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	w := &world{TB: tb, dir: dir, state: dir + "/state", workspace: dir + "/work", mount: dir + "/mnt"}
	w.write(w.state+"/settings.json", demoSettings)
	if err := os.MkdirAll(dir+"/home", 0o755); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(w.unmount)
	return w
}

// unmount takes away what a killed daemon left, however often. It breaks the
// connection, so that nobody is left waiting for an answer, and does not look at
// the mount, as umount(8) would.
func (w *world) unmount() {
	for range 8 {
		if !w.mounted() {
			return
		}
		if unix.Unmount(w.mount, unix.MNT_FORCE|unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) != nil {
			_ = exec.Command("fusermount3", "-uz", w.mount).Run() // the next look tells
		}
	}
	w.Errorf("%s cannot be unmounted", w.mount)
}

// mounted reports whether anything is mounted on the mount point.
func (w *world) mounted() bool {
	table, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(table), " "+w.mount+" ")
}

// write makes a file of the host and the directories it lies in.
func (w *world) write(path, text string) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
}

// read is a file of the host.
func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

func (w *world) socket() string { return w.state + "/run/9p" }

// get is a file of the tree, read over 9P.
func (w *world) get(path string) string {
	w.Helper()
	return w.mikan("cat", path).ok(w).out
}

// status is one value of a status file, "" if it is not there.
func (w *world) status(path, key string) string {
	w.Helper()
	return valueOf(w.get(path), key)
}

// valueOf finds a "key value" line.
func valueOf(lines, key string) string {
	for line := range strings.Lines(lines) {
		if v, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSuffix(v, "\n")
		}
	}
	return ""
}

// eventually waits for what nothing else tells of.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	within(tb, 20*time.Second, what, done)
}

func within(tb testing.TB, limit time.Duration, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(limit); !done(); {
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after %v: %s", limit, what)
		}
		time.Sleep(5 * time.Millisecond) // between looks, not instead of one
	}
}

// needsMount skips a test where nothing can be mounted.
func needsMount(tb testing.TB) {
	tb.Helper()
	if err := fuse.Available(fuse.Options{}); err != nil {
		tb.Skip("no FUSE here:", err)
	}
}

func needsRoot(tb testing.TB) {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Skip("only root can do this")
	}
}

func needs(tb testing.TB, tools ...string) {
	tb.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			tb.Skip(tool, "is not installed")
		}
	}
}

// want compares texts.
func want(tb testing.TB, what, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
	}
}

// wantAll checks that a text has all parts.
func wantAll(tb testing.TB, what, got string, parts ...string) {
	tb.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			tb.Errorf("%s: %q lacks %q", what, got, p)
		}
	}
}
