package host_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"mikan/podman/host"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// prompt is how soon Run must return once nothing holds it.
const prompt = 4 * time.Second

// eachMode runs a test in both modes.
func eachMode(t *testing.T, test func(t *testing.T, mode host.Mode)) {
	for _, mode := range []host.Mode{host.Bubblewrap, host.None} {
		t.Run(mode.String(), func(t *testing.T) {
			if mode == host.Bubblewrap {
				needBubblewrap(t)
			}
			test(t, mode)
		})
	}
}

func needBubblewrap(t testing.TB) {
	t.Helper()
	if mode, why := host.Confinement(t.Context()); mode != host.Bubblewrap {
		t.Skip(why)
	}
}

// office is a computer and the directories it was made of.
type office struct {
	*host.Computer
	dir, files, home string
}

// newOffice makes an office in a directory of its own, where it sees files and
// home, and what change adds.
func newOffice(t testing.TB, mode host.Mode, change ...func(dir string, cfg *host.Config)) *office {
	t.Helper()
	dir := t.TempDir()
	o := &office{dir: dir, files: filepath.Join(dir, "files"), home: filepath.Join(dir, "home")}
	mkdir(t, o.files)
	cfg := host.Config{Files: o.files, Home: o.home, Confine: mode}
	for _, f := range change {
		f(dir, &cfg)
	}
	c, err := host.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	o.Computer = c
	return o
}

// run runs a script that must start, and returns its end and both outputs.
func (o *office) run(t testing.TB, script string) (exit wire.Exit, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	exit, err := o.Run(t.Context(), wire.Command{Script: script, Stdout: &out, Stderr: &errs, Timeout: time.Minute})
	if err != nil {
		t.Fatalf("run %q: %v\n%s", script, err, errs.String())
	}
	return exit, out.String(), errs.String()
}

// started is a command that runs in the background of a test.
type started struct {
	cancel context.CancelFunc
	said   chan string // each write to standard output
	done   chan struct{}
	exit   wire.Exit
	err    error
}

// begin starts a script and returns when it has written its first output.
func (o *office) begin(t *testing.T, script string, timeout time.Duration) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &started{cancel: cancel, said: make(chan string, 100), done: make(chan struct{})}
	out := writerFunc(func(p []byte) (int, error) { s.said <- string(p); return len(p), nil })
	go func() {
		defer close(s.done)
		s.exit, s.err = o.Run(ctx, wire.Command{Script: script, Stdout: out, Timeout: timeout})
	}()
	t.Cleanup(func() { cancel(); <-s.done })
	select {
	case <-s.said:
	case <-s.done:
		t.Fatalf("%q ended without a word: %+v, %v", script, s.exit, s.err)
	case <-time.After(10 * time.Second):
		t.Fatalf("%q says nothing", script)
	}
	return s
}

// ended waits for the end, which must come soon.
func (s *started) ended(t *testing.T) wire.Exit {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(prompt):
		t.Fatalf("Run has not returned after %v", prompt)
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.exit
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// mark returns a variable assignment that no other process has.
func mark() string { return "MIKAN_TEST_MARK=" + rand.Text() }

// marked returns the processes that have the mark in their environment or their
// arguments. Zombies have neither any more.
func marked(t testing.TB, mark string) (pids []int) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, proc := range procs {
		env, _ := os.ReadFile(proc + "/environ") // gone, if not there
		args, _ := os.ReadFile(proc + "/cmdline")
		if bytes.Contains(append(env, args...), []byte(mark)) {
			pid, _ := strconv.Atoi(filepath.Base(proc))
			pids = append(pids, pid)
		}
	}
	return pids
}

// noneLeft checks that no process has the mark, and that we have no children.
func noneLeft(t testing.TB, mark string) {
	t.Helper()
	if pids := marked(t, mark); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	if err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != unix.ECHILD {
		t.Errorf("children are left: waitid says %v", err)
	}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, name, content string) {
	t.Helper()
	mkdir(t, filepath.Dir(name))
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// read reads a file through the computer.
func (o *office) read(t testing.TB, name string) (string, error) {
	t.Helper()
	f, err := o.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err == nil && f.Size() != int64(len(b)) {
		t.Errorf("%s: size %d, content of %d", name, f.Size(), len(b))
	}
	return string(b), err
}

// write writes a file through the computer.
func (o *office) write(t testing.TB, name, content string) error {
	t.Helper()
	s, err := o.Create(t.Context(), name)
	if err != nil {
		return err
	}
	defer s.Discard()
	if _, err := io.WriteString(s, content); err != nil {
		return err
	}
	return s.Commit()
}

// command is a script whose standard output is wanted.
func command(script string, stdout io.Writer) wire.Command {
	return wire.Command{Script: script, Stdout: stdout, Timeout: time.Minute}
}
