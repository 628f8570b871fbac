package fs

import (
	"context"
	"slices"
	"time"
)

func scratchTooBig() error {
	return Errorf(TooBig, "scratch is at most %d bytes", maxScratch)
}

func (s *scratch) content() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.data)
}

func (s *scratch) Stat(context.Context) (Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Info{
		Mode: s.mode, Size: int64(len(s.data)), MTime: s.mtime, Version: s.version,
		UID: s.uid, GID: s.gid,
	}, nil
}

func (s *scratch) Open(_ context.Context, _ *Identity, how Flags) (Handle, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opens++
	if how&Truncate != 0 {
		s.setLocked(nil)
	}
	return &scratchHandle{s}, nil
}

func (s *scratch) Change(_ context.Context, _ *Identity, c Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Size != nil {
		if err := s.resizeLocked(*c.Size); err != nil {
			return err
		}
	}
	if c.Mode != nil {
		s.mode = c.Mode.Perm()
	}
	if c.MTime != nil {
		s.mtime = *c.MTime
	}
	return nil
}

// Replace makes data the content.
func (s *scratch) Replace(_ context.Context, _ *Identity, data []byte) error {
	if len(data) > maxScratch {
		return scratchTooBig()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(data)
	return nil
}

func (s *scratch) resizeLocked(size int64) error {
	d := draft{data: s.data, max: maxScratch}
	if err := d.resize(size); err != nil {
		return err
	}
	s.setLocked(d.data)
	return nil
}

func (s *scratch) setLocked(data []byte) {
	s.data = data
	s.mtime = time.Now()
	s.version++
}

type scratchHandle struct{ *scratch }

func (h *scratchHandle) Read(_ context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return readAt(h.data, p, off), nil
}

func (h *scratchHandle) Write(_ context.Context, p []byte, off int64) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := draft{data: h.data, max: maxScratch}
	n, err := d.writeAt(p, off)
	if err != nil {
		return 0, err
	}
	h.setLocked(d.data)
	return n, nil
}

func (h *scratchHandle) Truncate(_ context.Context, size int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resizeLocked(size)
}

func (h *scratchHandle) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.opens--
	h.closed = time.Now()
	return nil
}
