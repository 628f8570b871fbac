package fs

import (
	"context"
	"sync"
)

// Stream is a text that grows until it ends, well or badly: the answer of one
// piece of work. Everyone reads it from its first byte, at his own pace, and
// loses nothing; it is kept once, whole, and whoever appends to it bounds it.
// The zero value is an empty running one.
type Stream struct {
	mu    sync.Mutex
	text  []byte
	ended bool
	err   error
	more  chan struct{} // closed at the next change; nil if nobody waits
	done  chan struct{} // closed at the end; nil if nobody asked
}

// NewStream returns a Stream that is empty and running.
func NewStream() *Stream { return &Stream{} }

// NewSettled returns a Stream that has ended with text and err.
func NewSettled(text []byte, err error) *Stream {
	s := &Stream{}
	s.Append(text)
	s.End(err)
	return s
}

// Append adds text. After the end it does nothing.
func (s *Stream) Append(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.text = append(s.text, text...)
	s.changed()
}

// Bytes returns the text so far. It is not modified.
func (s *Stream) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text[:len(s.text):len(s.text)]
}

// End ends the text. Readers get the end of the file after it or, if err is not
// nil, an IO error that has err as its reason. Only the first End counts.
func (s *Stream) End(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.err = true, err
	s.changed()
	if s.done != nil {
		close(s.done)
	}
}

// changed wakes the readers that wait; s.mu is held.
func (s *Stream) changed() {
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

// Done is closed when the text has ended.
func (s *Stream) Done() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.ended {
			close(s.done)
		}
	}
	return s.done
}

// Err is the error with which the text has ended, nil if it has ended well or not
// yet.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Read reads at off, and waits there until there is more, the text ends or ctx
// is done: [Reader], but with true offsets.
func (s *Stream) Read(ctx context.Context, p []byte, off int64) (int, error) {
	for {
		n, more, err := s.at(p, off)
		if more == nil {
			return n, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return 0, Interrupted
		}
	}
}

// at reads what is there; if that is nothing yet, more is closed at the next
// change.
func (s *Stream) at(p []byte, off int64) (n int, more <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = readAt(s.text, p, off)
	switch {
	case n > 0:
		return n, nil, nil
	case s.ended && s.err != nil:
		return 0, nil, Errorf(IO, "%w", s.err)
	case s.ended:
		return 0, nil, nil
	}
	if s.more == nil {
		s.more = make(chan struct{})
	}
	return 0, s.more, nil
}
