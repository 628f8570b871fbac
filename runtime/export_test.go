package runtime

import (
	"context"
	"slices"

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
