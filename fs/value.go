package fs

import (
	"bytes"
	"context"
	"sync"
	"time"
)

// Value is a file whose content is one value: settings.json, status. A reader
// gets the content as it was when he opened the file, with its true size.
//
// A write replaces the whole. An open file starts from the content, or from
// nothing with Truncate; what is written to it is committed at the first Sync
// with something new, else at the first Read of the same open file, else at
// Close. The commit's error is that operation's, and leaves the old content. To
// truncate and write nothing changes nothing.
type Value struct {
	Mode FileMode // 0: 0640, or 0440 without a Set
	// Get gives the content as who may see it, and the time of its last change.
	// The content is not modified. Nil is an empty file.
	Get func(ctx context.Context, who *Identity) ([]byte, time.Time, error)
	// Set judges data and makes it the content, or says what is wrong with it.
	// It may keep data. Nil makes the file read-only, for root too.
	Set func(ctx context.Context, who *Identity, data []byte) error
	Max int // bytes; 0: 1 MiB
}

var (
	_ Viewer   = (*Value)(nil)
	_ Opener   = (*Value)(nil)
	_ Changer  = (*Value)(nil)
	_ Replacer = (*Value)(nil)
)

// Stat describes the value as someone without rights sees it; see StatFor.
func (v *Value) Stat(ctx context.Context) (Info, error) { return v.StatFor(ctx, nobody) }

// StatFor describes the value as who sees it.
func (v *Value) StatFor(ctx context.Context, who *Identity) (Info, error) {
	mode := FileMode(0o640)
	if v.Set == nil {
		mode = 0o440
	}
	data, mtime, err := v.get(ctx, who)
	return Info{
		Mode:    modeOr(v.Mode, mode),
		Size:    int64(len(data)),
		MTime:   mtime,
		Version: version(data, mtime),
	}, err
}

func (v *Value) get(ctx context.Context, who *Identity) ([]byte, time.Time, error) {
	if v.Get == nil {
		return nil, time.Time{}, nil
	}
	return v.Get(ctx, who)
}

// Open opens the value; see [Value].
func (v *Value) Open(ctx context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 && v.Set == nil {
		return nil, Errorf(Permission, "the file is read-only")
	}
	h := &valueHandle{value: v, who: who, draft: draft{max: v.Max}}
	if how&Truncate == 0 {
		data, _, err := v.get(ctx, who)
		if err != nil {
			return nil, err
		}
		h.saved = data
	}
	if how&Write != 0 {
		h.draft.data = bytes.Clone(h.saved)
	} else {
		h.draft.data = h.saved
	}
	return h, nil
}

// Replace commits data as the whole content.
func (v *Value) Replace(ctx context.Context, who *Identity, data []byte) error {
	d := draft{max: v.Max}
	switch {
	case v.Set == nil:
		return Errorf(Permission, "the file is read-only")
	case len(data) > d.limit():
		return d.tooBig()
	}
	return v.Set(settled(ctx), who, bytes.Clone(data))
}

// Change accepts a new time, which the content alone has, and the mode that the
// file has already. A size other than 0 cuts or extends the content.
func (v *Value) Change(ctx context.Context, who *Identity, c Change) error {
	if c.Mode != nil {
		info, err := v.StatFor(ctx, who)
		if err != nil {
			return err
		}
		if c.Mode.Perm() != info.Mode.Perm() {
			return Errorf(Fixed, "the mode is fixed")
		}
	}
	if c.Size == nil || *c.Size == 0 {
		return nil
	}
	data, _, err := v.get(ctx, who)
	if err != nil {
		return err
	}
	d := draft{data: bytes.Clone(data), max: v.Max}
	if err := d.resize(*c.Size); err != nil {
		return err
	}
	return v.Replace(ctx, who, d.data)
}

type valueHandle struct {
	value *Value
	who   *Identity

	mu    sync.Mutex // a commit is one step for the readers of this handle
	draft draft
	saved []byte // as opened, or as last committed
}

func (h *valueHandle) Stat(ctx context.Context) (Info, error) {
	info, err := h.value.StatFor(ctx, h.who)
	h.mu.Lock()
	defer h.mu.Unlock()
	info.Size = int64(len(h.draft.data))
	return info, err
}

func (h *valueHandle) Read(ctx context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.commit(ctx); err != nil {
		return 0, err
	}
	return readAt(h.draft.data, p, off), nil
}

func (h *valueHandle) Write(_ context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draft.writeAt(p, off)
}

func (h *valueHandle) Truncate(_ context.Context, size int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.draft.resize(size)
}

func (h *valueHandle) Sync(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.commit(ctx)
}

func (h *valueHandle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.draft.reset()
	return h.commit(context.Background())
}

func (h *valueHandle) commit(ctx context.Context) error {
	if !h.draft.due() {
		return nil
	}
	err := h.draft.whole()
	if err == nil {
		err = h.value.Replace(ctx, h.who, h.draft.data)
	}
	h.draft.dirty, h.draft.cut = false, nil
	if err != nil {
		h.draft.data = bytes.Clone(h.saved)
		return err
	}
	h.saved = bytes.Clone(h.draft.data)
	return nil
}
