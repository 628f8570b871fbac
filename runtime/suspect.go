package runtime

import (
	"context"
	"fmt"
	"time"

	"mikan/runtime/store"
	"mikan/wire"
)

const (
	maxDeaths  = 3                // how often the daemon may die of a prompt that is tried
	minTrouble = time.Minute      // how long a prompt has waited at least that is parked
	tryLimit   = 30 * time.Second // how long the next suspect waits for one to begin
)

// suspect notes a session whose next prompt may be what the daemon died of.
func (rt *Runtime) suspect(s *Session) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.suspects = append(rt.suspects, s)
}

// trySuspects goes on with the suspects one after the other, so that none is blamed
// for what another does.
func (rt *Runtime) trySuspects() {
	rt.mu.Lock()
	list := rt.suspects
	rt.suspects = nil
	rt.mu.Unlock()
	for _, s := range list {
		id, err := s.try(rt.runs)
		s.wake()
		if err == nil {
			err = s.untilBegun(rt.runs, id)
		}
		if err != nil && rt.runs.Err() == nil {
			rt.log.Error("a suspect cannot be tried", "office", s.c.Address.String(), "session", s.name, "err", err)
		}
	}
}

// try counts that the session's next prompt, whose id it returns, is about to begin,
// and parks it if the daemon has died of it too often, and for so long that it was no
// accident. Of a session at work, which something that came in has woken, it knows
// nothing.
func (s *Session) try(ctx context.Context) (id int64, err error) {
	release, err := acquire(ctx, s.admit)
	if err != nil {
		return 0, err
	}
	defer release()
	s.mu.Lock()
	looping := s.looping
	s.mu.Unlock()
	if looping {
		return 0, nil
	}
	err = s.c.use(ctx, func(db *store.DB) error {
		p, starts, ok, err := db.CountStart(ctx, s.id)
		deaths := starts - 2 // in the first start it was one of many, and this one goes on
		if id = p.ID; err != nil || !ok || deaths < maxDeaths || time.Since(p.Accepted) < minTrouble {
			return err
		}
		s.c.rt.log.Error("a prompt is parked", "office", s.c.Address.String(), "prompt", p.TS(), "deaths", deaths)
		return s.c.settleAlone(ctx, db, store.Settlement{
			Run: p.ID, Session: s.id, Outcome: wire.Failed,
			Error: fmt.Sprintf("parked: the daemon died %d times in a row before this prompt could begin; its log may say why, and the prompt can be given again", deaths),
		})
	})
	s.c.touch()
	s.c.post()
	return id, err
}

// untilBegun waits until a prompt is no longer in the queue, but not for ever.
func (s *Session) untilBegun(ctx context.Context, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	for {
		s.c.mu.Lock()
		news := s.c.news
		s.c.mu.Unlock()
		var p store.Prompt
		err := s.c.use(ctx, func(db *store.DB) (err error) { p, _, err = db.Prompt(ctx, id); return err })
		if err != nil || p.State != store.Queued {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
