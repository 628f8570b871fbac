package fs

import (
	"bytes"
	"context"
	"fmt"
	"sync"
)

const (
	feedLines = 1000    // lines that wait for a reader
	feedBytes = 1 << 20 // bytes of them
)

// Feed is a stream of lines, to everyone who has it open, from the moment he
// opened it. The producer never waits: each reader has a bounded buffer, and one
// who lags loses the oldest lines and gets, in their place, a line that says how
// many. The zero value is ready for use.
type Feed struct {
	Mode FileMode // 0: 0440
	// Lost makes the line for n lost ones; nil: {"type":"dropped","n":N}.
	Lost func(n int) []byte
	// Of is what must live as long as the feed is known to anyone: who publishes to
	// it. It may be nil.
	Of any

	mu      sync.Mutex
	count   uint32 // lines published
	closed  bool
	readers map[*feedReader]struct{}
}

var _ Opener = (*Feed)(nil)

// Publish gives line to the readers; a newline is added if it has none. It may
// be called by many goroutines and does not keep line.
func (f *Feed) Publish(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	if f.closed || len(f.readers) == 0 {
		return
	}
	line = withNewline(line)
	for r := range f.readers {
		r.add(line)
	}
}

// Unread reports whether nobody has the feed open, so that a line need not be
// made.
func (f *Feed) Unread() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.readers) == 0
}

// withNewline returns a copy of line that ends in a newline.
func withNewline(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return append(append(make([]byte, 0, len(line)+1), line...), '\n')
}

func (f *Feed) lostLine(n int) []byte {
	if f.Lost != nil {
		return f.Lost(n)
	}
	return fmt.Appendf(nil, `{"type":"dropped","n":%d}`, n)
}

// Close ends the feed: readers get what waits for them, and then the end of the
// file. It is idempotent.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for r := range f.readers {
		r.notify()
	}
}

// Stat describes the feed; it has no size.
func (f *Feed) Stat(context.Context) (Info, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Info{Mode: modeOr(f.Mode, 0o440) | ModeTemporary, Version: f.count}, nil
}

// Open adds a reader.
func (f *Feed) Open(_ context.Context, _ *Identity, how Flags) (Handle, error) {
	if how&Write != 0 {
		return nil, Errorf(Permission, "a feed is not written to")
	}
	r := &feedReader{feed: f, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readers == nil {
		f.readers = map[*feedReader]struct{}{}
	}
	f.readers[r] = struct{}{}
	return r, nil
}

// feedReader is an open feed. All but wake is guarded by the feed's lock.
type feedReader struct {
	feed  *Feed
	wake  chan struct{}
	rest  []byte   // of a line that did not fit the last read
	lines [][]byte // shared with the other readers
	bytes int
	lost  int // lines that are missing before the first of lines
}

// add queues line, at the cost of the oldest if there is no room.
func (r *feedReader) add(line []byte) {
	r.lines = append(r.lines, line)
	r.bytes += len(line)
	for len(r.lines) > feedLines || r.bytes > feedBytes {
		r.pop()
		r.lost++
	}
	r.notify()
}

func (r *feedReader) pop() []byte {
	line := r.lines[0]
	r.lines[0] = nil
	r.lines = r.lines[1:]
	r.bytes -= len(line)
	return line
}

func (r *feedReader) notify() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Read gives as many whole lines as fit, or the part of one that does.
func (r *feedReader) Read(ctx context.Context, p []byte, _ int64) (int, error) {
	for {
		n, over := r.take(p)
		if n > 0 || over {
			return n, nil
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return 0, Interrupted
		}
	}
}

// take fills p with what waits, and reports whether no more will come.
func (r *feedReader) take(p []byte) (n int, over bool) {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	for n < len(p) {
		if len(r.rest) == 0 {
			if r.rest = r.next(); r.rest == nil {
				break
			}
		}
		if n > 0 && len(r.rest) > len(p)-n {
			break // it starts the next read
		}
		m := copy(p[n:], r.rest)
		r.rest = r.rest[m:]
		n += m
	}
	return n, r.feed.closed
}

// next returns the next line, or nil.
func (r *feedReader) next() []byte {
	if r.lost > 0 {
		n := r.lost
		r.lost = 0
		return withNewline(r.feed.lostLine(n))
	}
	if len(r.lines) == 0 {
		return nil
	}
	return r.pop()
}

func (r *feedReader) Close() error {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	delete(r.feed.readers, r)
	r.rest, r.lines = nil, nil
	return nil
}
