package fake

import (
	"slices"
	"time"

	"mikan/wire"
)

// Trouble is what goes wrong with operations.
type Trouble struct {
	Op    string // which operations; none: all
	Times int    // how many of them; 0: one
	What  Fault
	Text  string        // of Refuse and Final
	After time.Duration // of Limit
}

// Fault is a way in which an operation goes wrong.
type Fault int

// The faults.
const (
	Limit   Fault = iota // refused: the platform's limit is reached, After says for how long
	Refuse               // refused, with Text
	Final                // refused for good, with Text
	DropAck              // it is done, and the adapter dies before it can say so
	Die                  // the adapter dies and has not done it
	Silence              // it is not done, and never answered
)

// Trouble makes the next operations go wrong.
func (b *Bus) Trouble(t Trouble) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.Times = max(t.Times, 1)
	b.troubles = append(b.troubles, &t)
}

// trouble is what goes wrong with an operation; nil: nothing.
func (b *Bus) trouble(r wire.OpRequest) *Trouble {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.troubles, func(t *Trouble) bool { return t.Op == "" || t.Op == r.Op })
	if i < 0 {
		return nil
	}
	t := b.troubles[i]
	if t.Times--; t.Times == 0 {
		b.troubles = slices.Delete(b.troubles, i, i+1)
	}
	return t
}

// Troubles counts the operations that are still to go wrong.
func (b *Bus) Troubles() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, t := range b.troubles {
		n += t.Times
	}
	return n
}
