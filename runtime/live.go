package runtime

import (
	goruntime "runtime"
	"sync"
	"time"
	"weak"
)

// live knows the offices at work. There is never more than one Conversation of
// an office; it lives as long as someone has it, or something of it (an open
// file, a run), and while it is awake. The next who asks gets it anew, so an
// office that nobody uses costs nothing but the time of its last change.
type live struct {
	mu      sync.Mutex
	known   map[Address]weak.Pointer[Conversation]
	awake   map[Address]*Conversation // there may be work, or a runner is kept warm
	changed map[Address]time.Time
}

func newLive() *live {
	return &live{
		known: map[Address]weak.Pointer[Conversation]{}, awake: map[Address]*Conversation{}, changed: map[Address]time.Time{},
	}
}

// get returns the office at work, which build makes if it is not there.
func (l *live) get(a Address, build func() *Conversation) *Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.known[a].Value(); c != nil {
		return c
	}
	c := build()
	l.known[a] = weak.Make(c)
	goruntime.AddCleanup(c, l.forget, a)
	return c
}

// forget drops what is known of an office that is gone.
func (l *live) forget(a Address) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[a].Value() == nil {
		delete(l.known, a)
	}
}

// wake keeps an office until it is put to rest.
func (l *live) wake(c *Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.awake[c.Address] = c
}

func (l *live) rest(c *Conversation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.awake, c.Address)
}

// all returns the offices that are awake.
func (l *live) all() []*Conversation {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*Conversation, 0, len(l.awake))
	for _, c := range l.awake {
		list = append(list, c)
	}
	return list
}

// touch notes that an office changed.
func (l *live) touch(a Address) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed[a] = time.Now()
}

// lastChange is when an office changed last, as far as it has since the start.
func (l *live) lastChange(a Address) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, ok := l.changed[a]
	return t, ok
}
