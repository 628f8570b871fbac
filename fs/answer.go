package fs

import "context"

// Answer is a file that gives the text of one piece of work, bound when the file
// is opened: all of it from its first byte, waiting for what is still to come.
// It ends when the work has ended; if that failed, with an IO error after the
// text that there is.
type Answer struct {
	Mode FileMode // 0: 0440
	// Bind gives the text to read; nil if there is none, which reads as the end
	// of the file.
	Bind func(ctx context.Context, who *Identity) (*Stream, error)
}

var _ Opener = (*Answer)(nil)

// Stat describes the file; it has no size.
func (a *Answer) Stat(context.Context) (Info, error) {
	return Info{Mode: modeOr(a.Mode, 0o440) | ModeTemporary}, nil
}

// Open binds the answer.
func (a *Answer) Open(ctx context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 {
		return nil, Errorf(Permission, "an answer is not written to")
	}
	s, err := a.Bind(ctx, who)
	if err != nil {
		return nil, err
	}
	return &answerHandle{stream: s}, nil
}

type answerHandle struct {
	stream *Stream
	off    int64
}

func (h *answerHandle) Read(ctx context.Context, p []byte, _ int64) (int, error) {
	if h.stream == nil {
		return 0, nil
	}
	n, err := h.stream.Read(ctx, p, h.off)
	h.off += int64(n)
	return n, err
}

func (h *answerHandle) Close() error { return nil }

// Waiter is a file that has no content: reading it waits for something, and then
// is at the end.
type Waiter struct {
	Mode FileMode // 0: 0440
	// Wait returns when what is waited for has come, at once if it is there
	// already, or when ctx is done.
	Wait func(ctx context.Context, who *Identity) error
}

var _ Opener = (*Waiter)(nil)

// Stat describes the file; it has no size.
func (w *Waiter) Stat(context.Context) (Info, error) {
	return Info{Mode: modeOr(w.Mode, 0o440) | ModeTemporary}, nil
}

// Open opens the file for reading.
func (w *Waiter) Open(_ context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 {
		return nil, Errorf(Permission, "there is nothing to write here")
	}
	return waitHandle{w, who}, nil
}

type waitHandle struct {
	waiter *Waiter
	who    *Identity
}

func (h waitHandle) Read(ctx context.Context, _ []byte, _ int64) (int, error) {
	err := h.waiter.Wait(ctx, h.who)
	if err != nil && ctx.Err() != nil {
		return 0, Interrupted
	}
	return 0, err
}

func (waitHandle) Close() error { return nil }
