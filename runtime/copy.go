package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"mikan/harness"
)

// copyChunk is how much of the log is copied at a time.
const copyChunk = 1 << 18

// copyLog brings log.jsonl among the office's files, the agent's copy of the
// log, up to date. It is a prefix of the log, so its size says what is missing.
// The agent may have put anything in its place: the host opens a regular file
// of the office or fails, and never waits.
func (c *Conversation) copyLog(ctx context.Context) (err error) {
	size, _, err := c.LogSize(ctx)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.Base(c.Log)
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	at := info.Size()
	if ours, err := c.isPrefix(ctx, f, at, size); err != nil {
		return err
	} else if !ours {
		if err := f.Truncate(0); err != nil {
			return err
		}
		at = 0
	}
	buf := make([]byte, min(copyChunk, size-at))
	for at < size {
		n, err := c.ReadLog(ctx, buf, at)
		if err != nil || n == 0 {
			return err
		}
		if _, err := f.WriteAt(buf[:n], at); err != nil {
			return err
		}
		at += int64(n)
	}
	return nil
}

// isPrefix reports whether f, of size at, ends as the log does at that offset.
func (c *Conversation) isPrefix(ctx context.Context, f *os.File, at, size int64) (bool, error) {
	if at > size {
		return false, nil
	}
	have := make([]byte, min(at, 1<<10))
	want := make([]byte, len(have))
	if _, err := f.ReadAt(have, at-int64(len(have))); err != nil {
		return false, err
	}
	for n := 0; n < len(want); {
		m, err := c.ReadLog(ctx, want[n:], at-int64(len(want)-n))
		if err != nil || m == 0 {
			return false, err
		}
		n += m
	}
	return bytes.Equal(have, want), nil
}

// promptInput gathers what the system prompt is made of, as the runner's
// decision allows, and what was left out of it.
func (c *Conversation) promptInput(r *runner) (in harness.PromptInput, notes []string) {
	w := c.rt.ws
	in = harness.PromptInput{
		Office: c.Address.String(), Dir: r.computer.Dir(), Shared: w.Root, Confinement: r.confinement,
	}
	in.Skills, notes = harness.Skills(r.skills,
		harness.SkillDir{Root: w.Root, Path: w.Root},
		harness.SkillDir{Root: c.Dir, Path: r.computer.Dir()},
	)
	var note string
	if in.SharedMemory, note = harness.Memory(w.Root); note != "" {
		notes = append(notes, note)
	}
	if in.OfficeMemory, note = harness.Memory(c.Dir); note != "" {
		notes = append(notes, note)
	}
	for _, t := range r.tools {
		in.Tools = append(in.Tools, t.ToolSpec)
	}
	return in, notes
}
