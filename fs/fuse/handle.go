package fuse

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs"
)

// handle is an open file: the Fid of the one who opened it. It keeps no offset;
// where a conversational file stands, the tree's own handle knows.
type handle struct {
	srv    *Server
	node   *node
	fid    fs.Fid
	opener int // the thread group that opened it; 0 if unknown
	write  bool
	append bool // O_APPEND
	stream bool // a read may wait
	eof    bool // reads give the end of the file: opened with O_NONBLOCK

	reading lock // held by a Read, which may take long
	writing lock // held by everything else; all of it is short
	dirty   atomic.Bool
	clunked sync.Once
}

var (
	_ gofs.FileReader   = (*handle)(nil)
	_ gofs.FileWriter   = (*handle)(nil)
	_ gofs.FileFlusher  = (*handle)(nil)
	_ gofs.FileFsyncer  = (*handle)(nil)
	_ gofs.FileReleaser = (*handle)(nil)
)

// lock is a mutex that can be waited for with a context.
type lock chan struct{}

func newLock() lock    { return make(lock, 1) }
func (l lock) unlock() { <-l }

func (l lock) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fs.Interrupted
	}
}

// Read reads; on a conversational file it waits until there is something, the
// caller is interrupted or the mount is closed.
func (h *handle) Read(ctx context.Context, p []byte, off int64) (gofuse.ReadResult, syscall.Errno) {
	if h.eof {
		return gofuse.ReadResultData(nil), 0
	}
	if h.stream {
		return h.wait(ctx, p, off)
	}
	if err := h.reading.lock(h.srv.ops); err != nil {
		return nil, errno(err)
	}
	defer h.reading.unlock()
	n, err := h.fid.Read(h.srv.ops, p, off)
	if err != nil {
		return nil, errno(err)
	}
	return gofuse.ReadResultData(p[:n]), 0
}

// wait is a read of a conversational file.
func (h *handle) wait(request context.Context, p []byte, off int64) (gofuse.ReadResult, syscall.Errno) {
	ctx, cancel := context.WithCancel(h.srv.reads)
	defer cancel()
	defer context.AfterFunc(request, cancel)()
	n, err := 0, h.reading.lock(ctx)
	if err == nil {
		n, err = h.fid.Read(ctx, p, off)
		h.reading.unlock()
	}
	switch {
	case err == nil:
		return gofuse.ReadResultData(p[:n]), 0
	case fs.KindOf(err) == fs.Interrupted && h.srv.reads.Err() != nil:
		return gofuse.ReadResultData(nil), 0
	}
	return nil, errno(err)
}

// Write writes all of p or reports why not: a short count would make the
// caller send the rest as a new write, and a ctl file see half a line.
func (h *handle) Write(_ context.Context, p []byte, off int64) (uint32, syscall.Errno) {
	err := h.short(func(ctx context.Context) error {
		off, err := h.end(ctx, off)
		if err != nil {
			return err
		}
		n, err := h.fid.Write(ctx, p, off)
		if err != nil {
			return err
		}
		h.dirty.Store(true)
		if n < len(p) {
			return fs.IO
		}
		return nil
	})
	if err != nil {
		return 0, errno(err)
	}
	return uint32(len(p)), 0
}

// end is where a write at off goes. The kernel takes the end of the file from
// the size that it saw last; who appends means the end as it is now.
func (h *handle) end(ctx context.Context, off int64) (int64, error) {
	if !h.append || h.stream {
		return off, nil
	}
	info, err := h.fid.Stat(ctx)
	return info.Size, err
}

// Flush is a close(2) of one of the descriptors of this open file. It commits
// what was written if the process that opened the file closes it. Which process
// that is cannot be told of those without a number: each of them looks like all
// the others.
func (h *handle) Flush(ctx context.Context) syscall.Errno {
	if !h.dirty.Load() || h.opener == 0 || h.srv.callers.of(ctx).PID != h.opener {
		return 0
	}
	return h.sync()
}

// Fsync commits whoever asks.
func (h *handle) Fsync(context.Context, uint32) syscall.Errno {
	if !h.write {
		return 0
	}
	return h.sync()
}

func (h *handle) sync() syscall.Errno {
	return errno(h.short(func(ctx context.Context) error {
		h.dirty.Store(false)
		return h.fid.Sync(ctx)
	}))
}

func (h *handle) truncate(size int64) error {
	return h.short(func(ctx context.Context) error { return h.fid.Truncate(ctx, size) })
}

func (h *handle) stat() (info fs.Info, err error) {
	err = h.short(func(ctx context.Context) error {
		info, err = h.fid.Stat(ctx)
		return err
	})
	return info, err
}

// short runs an operation that does not wait for anybody, one at a time.
func (h *handle) short(op func(context.Context) error) error {
	if err := h.writing.lock(h.srv.ops); err != nil {
		return err
	}
	defer h.writing.unlock()
	return op(h.srv.ops)
}

// Release ends the open file. The kernel waits for nothing here, so an error of
// a commit that was still due is for the tree to keep.
func (h *handle) Release(context.Context) syscall.Errno {
	h.node.forget(h)
	h.srv.handles.remove(h)
	h.clunk(h.srv.ops)
	return 0
}

// clunk gives up the Fid, once.
func (h *handle) clunk(ctx context.Context) {
	h.clunked.Do(func() { _ = h.fid.Clunk(ctx) })
}

// handles are the open files of a mount.
type handles struct {
	mu   sync.Mutex
	open map[*handle]struct{}
}

func (s *handles) add(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = make(map[*handle]struct{})
	}
	s.open[h] = struct{}{}
}

func (s *handles) remove(h *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, h)
}

// clunk gives up what the kernel never released: after an abort it sends
// nothing more.
func (s *handles) clunk(ctx context.Context) {
	s.mu.Lock()
	left := s.open
	s.open = nil
	s.mu.Unlock()
	for h := range left {
		h.clunk(ctx)
	}
}
