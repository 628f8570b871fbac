package runtime

import (
	"context"
	"errors"
	"fmt"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// Compact asks for a compaction of the context: before the next call of what
// runs, or at once. It does not wait for it, and a restart forgets it.
func (s *Session) Compact() error {
	if err := s.c.rt.accepting(); err != nil {
		return err
	}
	s.mu.Lock()
	s.compact = true
	s.mu.Unlock()
	s.wake()
	return nil
}

// wantsCompact reports whether a compaction is wanted.
func (s *Session) wantsCompact() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compact
}

// takeCompact reports whether a compaction is wanted, which whoever asks does.
func (s *Session) takeCompact() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted := s.compact
	s.compact = false
	return wanted
}

// compacting reports whether a compaction of a session, or of any if session is
// 0, is wanted or under way while no prompt runs.
func (c *Conversation) compacting(session int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		if session != 0 && s.id != session {
			continue
		}
		s.mu.Lock()
		busy := s.compact || s.run != nil && s.run.prompt.ID == 0
		s.mu.Unlock()
		if busy {
			return true
		}
	}
	return false
}

// compactIdle compacts the context between two prompts. A stop ends it.
func (s *Session) compactIdle(base context.Context) {
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	s.mu.Lock()
	s.run, s.compact = &run{cancel: cancel, begun: true}, false
	s.mu.Unlock()
	s.c.touch()
	s.publish(wire.Event{Type: wire.Status, State: "running"})
	if err := s.compactNow(ctx); err != nil && ctx.Err() == nil {
		s.c.rt.log.Warn("a session was not compacted", "office", s.c.Address.String(), "session", s.name, "err", err)
	}
	s.setRun(nil)
	s.publish(wire.Event{Type: wire.Status, State: "idle"})
}

func (s *Session) compactNow(ctx context.Context) error {
	row, err := s.c.row(ctx, s.name)
	if err != nil {
		return err
	}
	r, release, err := s.lease(ctx, row)
	if err != nil {
		s.publish(wire.Event{Type: wire.AgentError, Error: err.Error()})
		return err
	}
	defer release()
	r.system = row.System
	run := &harness.Run{
		Model: r.model, Provider: r.provider, Thinking: r.level, System: row.System, Tools: r.tools,
		Store: &history{s: s, r: r}, Session: string(s.c.Key) + "/" + s.name,
		Emit: s.publishRun, Meter: harness.NewMeter(r.budget.limits(false), nil),
	}
	defer s.c.rt.spawn(run.Wait)
	end := run.Compact(ctx)
	ctx = context.WithoutCancel(ctx)
	err = s.c.use(ctx, func(db *store.DB) (err error) {
		for _, m := range end.Lost {
			err = errors.Join(err, db.AddUsage(ctx, s.id, m))
		}
		return err
	})
	return errors.Join(end.Err, err)
}

// contextUse is how full the model's window is, as "tokens/window"; empty if that
// is not known.
func (s *Session) contextUse() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.context == 0 || s.runner == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.context, s.runner.model.Window)
}

// publishRun tells of what a run without a prompt does.
func (s *Session) publishRun(e wire.Event) {
	s.note(e)
	s.publish(e)
}

// note keeps what an event says of the size of the context.
func (s *Session) note(e wire.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type == wire.SessionCompact:
		s.context = 0
	case e.Type == wire.TurnEnd && e.Usage != nil && e.Usage.Total > 0:
		s.context = e.Usage.Total
	}
}
