package runtime

import (
	"context"
	"slices"
	"sync"

	"mikan/fs"
)

// questions are what listeners are asked for the runs of an office and have not
// answered yet. The zero value is ready for use.
type questions struct {
	mu   sync.Mutex
	open map[*asking]bool
}

// asking is a question of a session that a listener has.
type asking struct {
	session *Session
	l       *fs.Listener
}

// ask puts q to l for a run of s.
func (x *questions) ask(ctx context.Context, s *Session, l *fs.Listener, q fs.Question) (fs.Reply, error) {
	defer x.note(s, l)()
	return l.Ask(ctx, q)
}

// note says that l has a question of s, until done is called.
func (x *questions) note(s *Session, l *fs.Listener) (done func()) {
	a := &asking{s, l}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open == nil {
		x.open = map[*asking]bool{}
	}
	x.open[a] = true
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.open, a)
	}
}

// free is EBUSY if who has a question of s or of a session that s waits for, or of
// any session if s is nil.
func (x *questions) free(s *Session, who *fs.Identity) error {
	if who == nil {
		return nil
	}
	x.mu.Lock()
	var of []*fs.Listener
	for a := range x.open {
		if s == nil || s.c.dependsOn(s.id, a.session.id) {
			of = append(of, a.l)
		}
	}
	x.mu.Unlock()
	if slices.ContainsFunc(of, func(l *fs.Listener) bool { return l.Is(who) }) {
		return fs.Errorf(fs.Busy, "you hold a question of this session; answer it first")
	}
	return nil
}

// Free is EBUSY if who holds a question of the session: he would wait for
// himself, or make others wait.
func (s *Session) Free(who *fs.Identity) error { return s.c.asking.free(s, who) }

// Free is EBUSY if who holds a question of any session of the office.
func (c *Conversation) Free(who *fs.Identity) error { return c.asking.free(nil, who) }
