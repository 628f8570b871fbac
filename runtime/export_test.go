package runtime

import (
	"context"
	"slices"
	"time"

	"mikan/runtime/store"
	"mikan/wire"
)

// Histories are the context of a session as its runner holds it, and as a restart
// would read it.
func (s *Session) Histories(ctx context.Context) (held, stored []wire.Message, err error) {
	s.mu.Lock()
	if s.runner != nil {
		held = slices.Clone(s.runner.history)
	}
	s.mu.Unlock()
	err = s.c.use(ctx, func(db *store.DB) (err error) { stored, err = db.Messages(ctx, s.id); return err })
	return held, stored, err
}

// SweepLater sweeps the office as if so much time had passed since its last use.
func (c *Conversation) SweepLater(ctx context.Context, d time.Duration) {
	c.rt.live.mu.Lock()
	c.rt.live.changed[c.Address] = c.rt.live.changed[c.Address].Add(-d)
	c.rt.live.mu.Unlock()
	c.mu.Lock()
	for _, s := range c.sessions {
		s.mu.Lock()
		if s.runner != nil {
			s.runner.used = s.runner.used.Add(-d)
		}
		s.mu.Unlock()
	}
	c.mu.Unlock()
	c.sweep(ctx)
}

// Hold keeps the session from taking a prompt until release is called.
func (s *Session) Hold() (release func()) {
	s.admit <- struct{}{}
	return func() { <-s.admit }
}
