package runtime

import (
	"context"
	"time"

	"mikan/runtime/store"
)

// descend has a session that is used for the first time go on from the run under
// which its thread hangs, once that has settled. Who is stopped meanwhile has not
// begun. What came by a file does not wait, since the run itself may wait for it.
// At the daemon's end a run that still waits in its queue is waited for no longer:
// both stay for the next start.
func (s *Session) descend(ctx context.Context, row store.Session, p store.Prompt) error {
	defer s.c.noLongerAwaits(s.id)
	for {
		news := s.c.nextNews()
		root, ok, err := s.root(ctx, row)
		switch {
		case err != nil || !ok:
			return err
		case root.State == store.Done:
			s.evict(0) // it may have been made for a prompt that never began
			return s.c.use(ctx, func(db *store.DB) error { return db.Descend(ctx, s.id, root, time.Now()) })
		case root.State == store.Queued && s.c.rt.holds():
			return errEnding
		case p.Source == "" || !s.c.awaits(s.id, root.Session):
			return nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Session) root(ctx context.Context, row store.Session) (p store.Prompt, ok bool, err error) {
	err = s.c.use(ctx, func(db *store.DB) (err error) { p, ok, err = db.Root(ctx, row); return err })
	return p, ok, err
}

// awaits notes that a session waits for another to settle; it does not if that
// waits for it.
func (c *Conversation) awaits(session, other int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waitsFor(other, session) {
		return false
	}
	if c.awaited == nil {
		c.awaited = map[int64]int64{}
	}
	c.awaited[session] = other
	return true
}

// dependsOn reports whether a session is another, or cannot go on before it has
// settled.
func (c *Conversation) dependsOn(session, other int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waitsFor(session, other)
}

// waitsFor is dependsOn with c.mu held.
func (c *Conversation) waitsFor(session, other int64) bool {
	for ; session != 0; session = c.awaited[session] {
		if session == other {
			return true
		}
	}
	return false
}

func (c *Conversation) noLongerAwaits(session int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.awaited, session)
}
