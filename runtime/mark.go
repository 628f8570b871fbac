package runtime

import (
	"context"
	"time"

	"mikan/fs"
	"mikan/runtime/store"
)

// mark notes in the index that the office may have work, before its store does.
// done is called when the store has it. An archived office takes none.
func (c *Conversation) mark(ctx context.Context) (done func(), err error) {
	c.mu.Lock()
	for c.clearing != nil {
		cleared := c.clearing
		c.mu.Unlock()
		select {
		case <-cleared:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c.mu.Lock()
	}
	if c.closed {
		c.mu.Unlock()
		return nil, fs.NotExist
	}
	marked := c.marked
	c.accepting++
	c.mu.Unlock()
	c.rt.live.wake(c)
	done = func() {
		c.mu.Lock()
		c.accepting--
		c.mu.Unlock()
	}
	if marked {
		return done, nil
	}
	if err := c.rt.index.SetPending(ctx, string(c.Key), true); err != nil {
		done()
		return nil, err
	}
	c.mu.Lock()
	c.marked = true
	c.mu.Unlock()
	return done, nil
}

// sweep lets go of idle runners and clears the office's mark.
func (c *Conversation) sweep(ctx context.Context) {
	c.mu.Lock()
	list := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		list = append(list, s)
	}
	c.mu.Unlock()
	warm := false
	for _, s := range list {
		warm = s.evict(runnerIdle) || warm
	}
	if time.Since(c.Changed()) > indexIdle {
		c.unmark(ctx)
		if !warm {
			c.servers.close()
			c.rest()
		}
	}
}

// rest lets the office go, unless there may be work. It has no runner.
func (c *Conversation) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.marked && c.accepting == 0 {
		c.rt.live.rest(c)
	}
}

// unmark clears the mark if nothing waits, runs, is being accepted or is to be
// posted.
func (c *Conversation) unmark(ctx context.Context) {
	cleared := make(chan struct{})
	c.mu.Lock()
	if !c.marked || c.accepting > 0 || c.clearing != nil {
		c.mu.Unlock()
		return
	}
	c.clearing = cleared
	c.mu.Unlock()
	clear := c.idle(ctx) == nil && c.unposted(ctx) == 0
	if clear {
		if err := c.rt.index.SetPending(ctx, string(c.Key), false); err != nil {
			c.rt.log.Warn("the index cannot be cleared", "office", c.Address.String(), "err", err)
		}
	}
	c.mu.Lock()
	c.clearing = nil
	c.marked = !clear // if in doubt the next prompt marks it again
	c.mu.Unlock()
	close(cleared)
}

// endWell notes that the daemon does not die of what waits here, and clears the
// mark if nothing does.
func (c *Conversation) endWell(ctx context.Context) {
	c.mu.Lock()
	marked := c.marked
	c.mu.Unlock()
	if !marked {
		return
	}
	if err := c.use(ctx, func(db *store.DB) error { return db.EndWell(ctx) }); err != nil {
		c.rt.log.Warn("a death too many may be counted", "office", c.Address.String(), "err", err)
	}
	c.unmark(ctx)
}

// unposted counts what is still to be posted; if in doubt there is something.
func (c *Conversation) unposted(ctx context.Context) int {
	n := 1
	_ = c.use(ctx, func(db *store.DB) (err error) { n, err = db.Unposted(ctx); return err })
	return n
}
