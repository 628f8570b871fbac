package fs

import (
	"context"
	"errors"
	"io"
	"time"
)

// Log is a file that only grows: offsets and size are true, a read never waits,
// and nothing is written through it. `tail -f` works on it.
type Log struct {
	Mode   FileMode // 0: 0440
	Source Source
}

// Source is what a [Log] shows.
type Source interface {
	// Size gives the length so far, and the time of the last addition.
	Size(ctx context.Context) (int64, time.Time, error)
	// ReadAt reads as io.ReaderAt does.
	ReadAt(ctx context.Context, p []byte, off int64) (int, error)
}

var _ Opener = (*Log)(nil)

// Stat describes the log as it is now.
func (l *Log) Stat(ctx context.Context) (Info, error) {
	size, mtime, err := l.Source.Size(ctx)
	return Info{
		Mode:    modeOr(l.Mode, 0o440) | ModeAppend,
		Size:    size,
		MTime:   mtime,
		Version: uint32(size),
	}, err
}

// Open opens the log for reading.
func (l *Log) Open(_ context.Context, _ *Identity, how Flags) (Handle, error) {
	if how&Write != 0 {
		return nil, Errorf(Permission, "a log is not written to")
	}
	return logHandle{l.Source}, nil
}

type logHandle struct{ source Source }

func (h logHandle) Read(ctx context.Context, p []byte, off int64) (int, error) {
	n, err := h.source.ReadAt(ctx, p, off)
	if n > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

func (logHandle) Close() error { return nil }
