package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

const feedBudget = 2 * time.Millisecond

// feedRow is the time from an event to its line at a reader that waits, beside
// that of tail -f on a log of the mount, which looks once a second.
func feedRow(ctx context.Context, w *world) error {
	ours, err := feedTime(ctx, w.times(1000))
	if err != nil {
		return err
	}
	peer, who := time.Duration(0), "no FUSE here"
	if fuse.Available(fuse.Options{}) == nil {
		who = "tail -f"
		if peer, err = w.tailTime(ctx, w.times(5)); err != nil {
			return err
		}
	}
	w.limit("event to a blocked feed reader, p50", who, compared(ours, peer), ours, feedBudget)
	return nil
}

func feedTime(ctx context.Context, n int) (time.Duration, error) {
	feed := &fs.Feed{}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"feed": feed}}, me.UID, me.GID)
	root, hangUp, err := dialed(serveMikan, tree)
	if err != nil {
		return 0, err
	}
	defer hangUp()
	f, err := root.Walk(ctx, "feed")
	if err == nil {
		err = f.Open(ctx, fs.Read)
	}
	if err != nil {
		return 0, err
	}
	came := make(chan time.Time, 1)
	go func() {
		defer close(came)
		for buf := make([]byte, 4096); ; {
			if n, err := f.Read(ctx, buf, 0); n == 0 || err != nil {
				return
			}
			came <- time.Now()
		}
	}()
	var list []time.Duration
	for range n {
		time.Sleep(time.Millisecond) // the reader waits again
		began := time.Now()
		feed.Publish([]byte("{}"))
		at, ok := <-came
		if !ok {
			return 0, errors.New("the feed ended")
		}
		list = append(list, at.Sub(began))
	}
	return percentile(list, 50), nil
}

// grown is a log in memory.
type grown struct {
	mu   sync.Mutex
	data []byte
	at   time.Time
}

func (g *grown) add(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.data, g.at = append(g.data, line...), time.Now()
}

func (g *grown) Size(context.Context) (int64, time.Time, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.data)), g.at, nil
}

func (g *grown) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if off >= int64(len(g.data)) {
		return 0, io.EOF
	}
	return copy(p, g.data[off:]), nil
}

func (w *world) tailTime(ctx context.Context, n int) (_ time.Duration, err error) {
	log := &grown{}
	log.add("begin\n")
	dirs, err := w.mountDirs("log")
	if err != nil {
		return 0, err
	}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"log": &fs.Log{Source: log}}}, me.UID, me.GID)
	srv, err := fuse.Mount(dirs[0], tree, fuse.Options{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	cmd := exec.CommandContext(ctx, "tail", "-f", filepath.Join(dirs[0], "log"))
	cmd.Dir = "/"
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		return 0, fmt.Errorf("tail: %w", err)
	}
	var list []time.Duration
	for range n {
		began := time.Now()
		log.add("line\n")
		if _, err := lines.ReadString('\n'); err != nil {
			return 0, fmt.Errorf("tail: %w", err)
		}
		list = append(list, time.Since(began))
	}
	return percentile(list, 50), nil
}
