package fs

import (
	"context"
	"sync"
	"time"
)

// bodyHandle is an open [body]. It behaves as that of a [Value], except that it
// keeps a copy only while something is uncommitted: bodies may be large.
type bodyHandle struct {
	body *body

	mu       sync.Mutex // a commit is one step for the readers of this handle
	saved    content    // as opened, or as last committed
	original bool       // saved is the request's
	writing  bool       // draft starts from saved, and is counted
	draft    draft
}

var (
	_ Reader    = (*bodyHandle)(nil)
	_ Writer    = (*bodyHandle)(nil)
	_ Syncer    = (*bodyHandle)(nil)
	_ Truncater = (*bodyHandle)(nil)
	_ Stater    = (*bodyHandle)(nil)
)

func (h *bodyHandle) Stat(ctx context.Context) (Info, error) {
	info, err := h.body.StatFor(ctx, h.body.holder)
	h.mu.Lock()
	defer h.mu.Unlock()
	info.Size = h.saved.len()
	if h.writing {
		info.Size = int64(len(h.draft.data))
	}
	return info, err
}

func (h *bodyHandle) Read(_ context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.commit(); err != nil {
		return 0, err
	}
	n, err := h.saved.readAt(p, off)
	if gone := h.body.wasRead(h.original && n > 0); gone != nil {
		return 0, gone
	}
	return n, err
}

func (h *bodyHandle) Write(_ context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.begin(); err != nil {
		return 0, err
	}
	return h.draft.writeAt(p, off)
}

func (h *bodyHandle) Truncate(_ context.Context, size int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if size == 0 && !h.writing {
		h.saved = content{} // it needs no copy, however long it is
	}
	if err := h.begin(); err != nil {
		return err
	}
	return h.draft.resize(size)
}

// begin starts a draft from what is saved.
func (h *bodyHandle) begin() error {
	if h.writing {
		return nil
	}
	if h.saved.len() > MaxAnswerBody {
		return Errorf(TooBig, "the body is longer than the %d bytes that may replace it; truncate it first", MaxAnswerBody)
	}
	if err := h.body.begin(); err != nil {
		return err
	}
	data, err := h.saved.bytes()
	if err == nil {
		err = h.draft.start(data)
	}
	if err != nil {
		h.body.end()
		return err
	}
	h.writing = true
	return nil
}

func (h *bodyHandle) Sync(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commit()
}

// Close commits, and gives up what there is nothing to commit of.
func (h *bodyHandle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.commit()
	h.drop()
	return err
}

func (h *bodyHandle) commit() error {
	if !h.draft.due() {
		return nil
	}
	text, err := h.draft.data, h.draft.whole()
	if err == nil {
		err = h.body.replace(text)
	}
	h.drop()
	if err == nil {
		h.saved, h.original = content{data: text}, false
	}
	return err
}

// drop ends the draft.
func (h *bodyHandle) drop() {
	if h.writing {
		h.body.end()
	}
	h.writing = false
	h.draft.reset()
}

// wasRead notes a read, some of it of the request if so, and refuses one that
// comes after the answer.
func (b *body) wasRead(some bool) error {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	if b.settled {
		return b.gone()
	}
	b.read = b.read || some
	return nil
}

// begin counts a handle that has something to commit.
func (b *body) begin() error {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	switch {
	case b.settled:
		return b.gone()
	case b.drafting >= maxDrafts:
		return Errorf(Busy, "%d open files have uncommitted text for this body; close one", maxDrafts)
	}
	b.drafting++
	return nil
}

// end is the reverse of begin.
func (b *body) end() {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	b.drafting--
}

// replace makes text the body.
func (b *body) replace(text []byte) error {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	if b.settled {
		return b.gone()
	}
	b.content, b.changed = content{data: text}, time.Now()
	b.version++
	return nil
}

func (b *body) gone() error { return Errorf(NotExist, "request %d is settled", b.tag) }
