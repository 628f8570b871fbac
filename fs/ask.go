package fs

import (
	"bytes"
	"context"
	"sync"
)

// Ask is a file for a question and its answer, on one open file: what is written
// is a body, and after its commit the file reads as the answer to it. Without a
// body it is at its end.
//
// A body is whole: all that was written since the last commit, offsets ignored.
// It is committed as a [Value] is: at the first Sync with something new, else at
// the first Read, else at Close. When the answer has been read to its end, the
// next body may be written; before that, one who reads gets Busy.
type Ask struct {
	Mode FileMode // 0: 0660
	// Commit accepts body, which it may keep, and gives the answer and the number
	// of the body, or says what is wrong. It does not wait for the answer. A nil
	// answer is empty. A body of blanks is refused before it comes here. Nil: the
	// file takes nothing.
	Commit func(ctx context.Context, who *Identity, body []byte) (answer *Stream, number uint32, err error)
	Max    int // bytes of a body; 0: 1 MiB
}

var _ Opener = (*Ask)(nil)

// Stat describes the file; it has no size. That of an open file has the number
// of the last body as its version.
func (a *Ask) Stat(context.Context) (Info, error) {
	return Info{Mode: modeOr(a.Mode, 0o660) | ModeTemporary}, nil
}

// Open opens the file; see [Ask].
func (a *Ask) Open(_ context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 && a.Commit == nil {
		return nil, Errorf(Permission, "the file takes nothing")
	}
	return &askHandle{ask: a, node: a, who: who, reads: how&Read != 0, draft: draft{max: a.Max}}, nil
}

// Body is a file that takes whole bodies, as [Ask] does, and has nothing to
// read.
type Body struct {
	Mode FileMode // 0: 0660
	// Commit accepts body, which it may keep, or says what is wrong. Nil: the file
	// takes nothing.
	Commit func(ctx context.Context, who *Identity, body []byte) error
	Max    int // bytes of a body; 0: 1 MiB
}

var _ Opener = (*Body)(nil)

// Stat describes the file; its size is 0.
func (b *Body) Stat(context.Context) (Info, error) {
	return Info{Mode: modeOr(b.Mode, 0o660)}, nil
}

// Open opens the file; see [Body].
func (b *Body) Open(_ context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 && b.Commit == nil {
		return nil, Errorf(Permission, "the file takes nothing")
	}
	ask := &Ask{Commit: func(ctx context.Context, who *Identity, body []byte) (*Stream, uint32, error) {
		return nil, 0, b.Commit(ctx, who, body)
	}}
	return &askHandle{ask: ask, node: b, who: who, draft: draft{max: b.Max}}, nil
}

type askHandle struct {
	ask   *Ask
	node  Node
	who   *Identity
	reads bool

	mu     sync.Mutex
	draft  draft
	number uint32
	answer answerHandle // its offset is the reader's
	unread bool         // the answer has not been read to its end
}

func (h *askHandle) Stat(ctx context.Context) (Info, error) {
	info, err := h.node.Stat(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	info.Version = h.number
	return info, err
}

func (h *askHandle) Write(_ context.Context, p []byte, _ int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unread && h.reads {
		return 0, Errorf(Busy, "the last answer is not read to its end; read it, or open the file anew")
	}
	return h.draft.append(p)
}

func (h *askHandle) Read(ctx context.Context, p []byte, off int64) (int, error) {
	answer, err := h.committed(ctx)
	if err != nil {
		return 0, err
	}
	n, err := answer.Read(ctx, p, off)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer.off = answer.off
	if n == 0 && KindOf(err) != Interrupted {
		h.unread = false
	}
	return n, err
}

// committed commits what is due and returns the answer at the reader's offset.
func (h *askHandle) committed(ctx context.Context) (answerHandle, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.commit(ctx)
	return h.answer, err
}

func (h *askHandle) Sync(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commit(ctx)
}

func (h *askHandle) Close() error { return h.Sync(context.Background()) }

// commit commits the draft and starts an empty one, also when it is refused: a
// body that was wrong is not committed again.
func (h *askHandle) commit(ctx context.Context) error {
	if !h.draft.due() {
		return nil
	}
	body, whole := h.draft.data, h.draft.whole()
	h.draft.reset()
	if whole != nil {
		return whole
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return Errorf(Invalid, "the text is empty; write something")
	}
	answer, number, err := h.ask.Commit(settled(ctx), h.who, body)
	if err != nil {
		return err
	}
	h.answer, h.number = answerHandle{stream: answer}, number
	h.unread = answer != nil
	return nil
}
