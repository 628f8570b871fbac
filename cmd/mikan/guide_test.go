package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mikan/fs/fuse"
)

// What the README and the manual tell people to type is typed here: into bash,
// with the built program and the daemon that scripts/run starts.

// example is what is typed, and what it prints.
type example struct{ script, want string }

// build builds the program, once, and returns the directory that it is in.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mikan-test-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", filepath.Join(dir, "mikan"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := build(); dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// site is a directory in which "make run" was typed.
type site struct {
	dir   string
	start string // what it printed
}

// makeRun does what "make run" does, in a directory of its own, until the test
// ends.
func makeRun(t *testing.T) site {
	t.Helper()
	if err := fuse.Available(fuse.Options{}); err != nil {
		t.Skip("no mount here: ", err)
	}
	for _, tool := range []string{"bash", "jq", "setsid"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	bin, err := build()
	if err != nil {
		t.Fatal(err)
	}
	s := site{dir: t.TempDir()}
	if err := os.Symlink(bin, filepath.Join(s.dir, "bin")); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs("../../scripts/run")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Dir = s.dir
	cmd.Env = s.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = nil
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := new(bytes.Buffer)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// As Ctrl-C does.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		if err := cmd.Wait(); err != nil {
			t.Errorf("scripts/run ended with %v\n%s", err, log)
		}
		if entries, err := os.ReadDir(filepath.Join(s.dir, ".run", "mnt")); err != nil || len(entries) > 0 {
			t.Errorf("after the end the mount is still there: %v %v", entries, err)
		}
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		s.start += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "Ctrl-C") {
			go func() { // until the daemon ends
				for lines.Scan() {
				}
			}()
			return s
		}
	}
	t.Fatalf("scripts/run did not come up:\n%s%s", s.start, log)
	return s
}

// env is the environment of someone who works there: the program is in the
// PATH, as after "make install", and the socket is known.
func (s site) env() []string {
	return []string{
		"PATH=" + filepath.Join(s.dir, "bin") + ":" + os.Getenv("PATH"),
		"HOME=" + s.dir, "LANG=C.UTF-8", "TERM=dumb", "TZ=UTC",
	}
}

// end marks the end of an example's output.
const end = "--8<--"

// shellNoise is what bash says of errors only when it is not at a terminal.
var shellNoise = regexp.MustCompile(`(?m)^bash: line \d+: `)

// try types the examples into one bash, in a session of its own as at a
// terminal, and compares what is printed.
func (s site) try(t *testing.T, begin string, examples []example) {
	t.Helper()
	script := begin + "\n"
	for _, e := range examples {
		script += e.script + "\necho; echo '" + end + "'\n"
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "setsid", "-w", "bash")
	cmd.Stdin = strings.NewReader(script)
	cmd.Dir = s.dir
	cmd.Env = append(s.env(), "MIKAN_SOCKET="+filepath.Join(s.dir, ".run", "state", "run", "9p"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("bash: %v", err)
	}
	have := strings.Split(shellNoise.ReplaceAllString(string(out), "bash: "), "\n"+end+"\n")
	for i, e := range examples {
		if i >= len(have) {
			t.Fatalf("nothing came of\n%s\nor after", e.script)
		}
		if !matches(e.want, have[i]) {
			t.Errorf("typed:\n%s\nhave:\n%s\nwant:\n%s", e.script, have[i], e.want)
		}
	}
}

// matches compares an output with what it should be, in which … stands for any
// text.
func matches(want, have string) bool {
	pattern := regexp.QuoteMeta(strings.TrimRight(want, "\n"))
	pattern = strings.ReplaceAll(pattern, "…", ".*?")
	return regexp.MustCompile(`(?s)\A` + pattern + `\z`).MatchString(strings.TrimRight(have, "\n"))
}

func TestMatches_treatsTheEllipsisAsAnyText(t *testing.T) {
	for _, c := range []struct {
		want, have string
		ok         bool
	}{
		{"a\n", "a", true}, {"a", "ab", false}, {"a…c", "abc", true}, {"a…", "b", false}, {"a.c", "abc", false},
	} {
		if matches(c.want, c.have) != c.ok {
			t.Errorf("matches(%q, %q) is not %v", c.want, c.have, c.ok)
		}
	}
}
