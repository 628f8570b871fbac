package fuse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// cell is the content of a value.
type cell struct {
	mu   sync.Mutex
	data []byte
	when time.Time
}

func newCell(text string) *cell { return &cell{data: []byte(text), when: time.Unix(1e9, 0)} }

func (c *cell) get(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.data, c.when, nil
}

func (c *cell) set(_ context.Context, _ *fs.Identity, data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.data, c.when = data, time.Now()
	return nil
}

// setJSON refuses what is not JSON.
func (c *cell) setJSON(ctx context.Context, who *fs.Identity, data []byte) error {
	if !json.Valid(data) {
		return fs.Errorf(fs.Invalid, "not JSON: correct it and write it again")
	}
	return c.set(ctx, who, data)
}

func (c *cell) String() string {
	data, _, _ := c.get(context.Background(), nil)
	return string(data)
}

// record keeps what was committed, and by whom.
type record struct {
	mu   sync.Mutex
	list []string
	who  []fs.Identity
}

func (r *record) add(who *fs.Identity, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.who = append(r.list, text), append(r.who, *who)
}

func (r *record) taken() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list, r.who = nil, nil
	return list
}

func (r *record) len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// eventually waits for what happens after a close has returned.
func eventually(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			tb.Fatalf("still not so after 5 s: %s", what)
		}
		time.Sleep(time.Millisecond) // between looks, not instead of one
	}
}

// mounted mounts src for the length of the test.
func mounted(tb testing.TB, src fs.Attacher, opts fuse.Options) string {
	tb.Helper()
	dir, _ := mountedServer(tb, src, opts)
	return dir
}

func mountedServer(tb testing.TB, src fs.Attacher, opts fuse.Options) (string, *fuse.Server) {
	tb.Helper()
	if err := fuse.Available(opts); err != nil {
		tb.Skip("no FUSE here:", err)
	}
	dir := tb.TempDir()
	srv, err := fuse.Mount(dir, src, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := srv.Close(); err != nil {
			tb.Error(err)
		}
	})
	return dir, srv
}

func newTree(root fs.Node) *fs.Tree {
	return fs.NewTree(root, uint32(os.Getuid()), uint32(os.Getgid()))
}

// result is how a command ended.
type result struct {
	out  string
	err  string
	code int
}

// sh runs a script with bash; $M is the mount.
func sh(tb testing.TB, mount, script string) result {
	tb.Helper()
	return run(tb, mount, "bash", "-c", script)
}

// run runs a command that must end within ten seconds.
func run(tb testing.TB, mount string, argv ...string) result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := group(exec.CommandContext(ctx, argv[0], argv[1:]...))
	cmd.Env = shellEnv(tb, mount)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		tb.Fatalf("%q: %v, %v: %s%s", argv, err, ctx.Err(), stdout.String(), stderr.String())
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func shellEnv(tb testing.TB, mount string) []string {
	return []string{
		"M=" + mount, "T=" + tb.TempDir(), "HOME=/nonexistent", "LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
}

// must runs a script that must succeed, and returns what it printed.
func must(tb testing.TB, mount, script string) string {
	tb.Helper()
	r := sh(tb, mount, script)
	if r.code != 0 {
		tb.Fatalf("%s\nexit %d: %s%s", script, r.code, r.out, r.err)
	}
	return r.out
}

// want compares lines.
func want(tb testing.TB, what, got, want string) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %q, want %q", what, got, want)
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
