package runtime

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// Session is a session at work. Its prompts are answered one after the other by
// a loop that lives as long as there is one to answer.
type Session struct {
	c    *Conversation
	id   int64
	name string
	feed *fs.Feed

	// admit is held while a prompt comes in or is taken, so that the feed tells of
	// its acceptance before it tells of its run.
	admit chan struct{}

	mu      sync.Mutex
	looping bool                 // the loop lives
	more    bool                 // the loop is to look once more before it ends
	run     *run                 // what is being answered; nil: nothing
	newest  int64                // the prompt accepted last
	stop    int64                // a stop came between two runs: it is for what was accepted until then
	answers map[int64]*fs.Stream // of prompts that have not settled
	runner  *runner
	compact bool // someone wants the context compacted, after the turn
	context int  // tokens of it, as the newest reply says; 0: not known
}

// run is one prompt being answered.
type run struct {
	prompt store.Prompt
	cancel context.CancelCauseFunc
	begun  bool // it has left the queue
	meter  *harness.Meter
	doing  []doing // oldest first
}

func newSession(c *Conversation, row store.Session) *Session {
	return &Session{c: c, id: row.ID, name: row.Name, feed: newFeed(c), admit: make(chan struct{}, 1), answers: map[int64]*fs.Stream{}}
}

// Name is the session's name in the path.
func (s *Session) Name() string { return s.name }

// path is where the session stands below its office.
func (s *Session) path() string {
	if s.isTask() {
		return s.name
	}
	return "sessions/" + s.name
}

// runs is the context of all runs of the session's sort.
func (s *Session) runs() context.Context {
	if s.isTask() {
		return s.c.rt.tasks
	}
	return s.c.rt.runs
}

// Feed is the stream of the session's events.
func (s *Session) Feed() *fs.Feed { return s.feed }

// Changed is when the office's state changed last.
func (s *Session) Changed() time.Time { return s.c.Changed() }

// publish gives an event to the feeds of the session, the office and the
// daemon.
func (s *Session) publish(e wire.Event) {
	e.Office, e.Session = s.c.Address.String(), s.name
	s.c.rt.publish(e, s.c.feed, s.feed)
}

// Accepted is a prompt that the store has.
type Accepted struct {
	ID     int64
	Answer *fs.Stream
}

// Prompt accepts a prompt, steering text or follow-up. When it returns, the
// store has it.
func (s *Session) Prompt(ctx context.Context, who Actor, kind store.Kind, text string) (Accepted, error) {
	if err := s.c.rt.accepting(); err != nil {
		return Accepted{}, err
	}
	if err := s.Free(who.Client); err != nil {
		return Accepted{}, err
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return Accepted{}, fs.Errorf(fs.Invalid, "the prompt is empty")
	}
	done, err := s.c.mark(ctx)
	if err != nil {
		return Accepted{}, err
	}
	defer done()
	p, err := s.accept(ctx, who, store.Prompt{Session: s.id, Kind: kind, Actor: who.ID, Name: who.Name, Origin: who.Origin, Text: text, Accepted: time.Now()})
	if err != nil {
		return Accepted{}, err
	}
	s.c.touch()
	s.wake()
	answer, err := s.watch(ctx, p.ID)
	return Accepted{p.ID, answer}, err
}

// accept puts a prompt into the store and tells of it.
func (s *Session) accept(ctx context.Context, who Actor, p store.Prompt) (store.Prompt, error) {
	release, err := acquire(ctx, s.admit)
	if err != nil {
		return p, err
	}
	defer release()
	if p.Kind, err = s.whenBusy(ctx, p); errors.Is(err, errAtWork) {
		return p, s.refusal()
	}
	if err != nil {
		return p, err
	}
	var rec wire.Record
	err = s.c.use(ctx, func(db *store.DB) (err error) {
		p, rec, err = db.Accept(ctx, p)
		return err
	})
	switch {
	case errors.Is(err, store.ErrQueueFull):
		return p, fs.Errorf(fs.Again, "the session %s has %d prompts waiting; try again later", s.name, store.QueueLimit)
	case errors.Is(err, store.ErrNoSession):
		return p, fs.NotExist
	case err != nil:
		return p, err
	}
	s.accepted(p.ID)
	s.publish(wire.Event{Type: wire.Accepted, Prompt: p.TS(), Actor: who.ID, Text: p.Text})
	s.publish(wire.Event{Type: wire.Logged, Prompt: p.TS(), Record: &rec})
	return p, nil
}

// accepted notes the prompt that was accepted last: a stop is for those until it.
func (s *Session) accepted(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, id)
}

// answer is the stream of a prompt that has not settled. It is made if it is not
// there, and then made says so.
func (s *Session) answer(id int64) (a *fs.Stream, made bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.answers[id]; a != nil {
		return a, false
	}
	a = fs.NewStream()
	s.answers[id] = a
	return a, true
}

// settleAnswer ends the stream of a prompt.
func (s *Session) settleAnswer(id int64, err error) {
	s.mu.Lock()
	a := s.answers[id]
	delete(s.answers, id)
	s.mu.Unlock()
	if a != nil {
		a.End(err)
	}
}

// watch is the stream of a prompt, settled or not. A stream that it had to make
// may have come too late, when the run had ended its own: then the store has the
// whole answer.
func (s *Session) watch(ctx context.Context, id int64) (*fs.Stream, error) {
	a, made := s.answer(id)
	if !made {
		return a, nil
	}
	var p store.Prompt
	err := s.c.use(ctx, func(db *store.DB) (err error) { p, _, err = db.Prompt(ctx, id); return err })
	if err == nil && p.State == store.Done {
		a.Append([]byte(closed(p.Answer)))
		s.settleAnswer(id, ending(p.Outcome, p.Error))
	}
	return a, err
}

// Reply is the answer to the prompt that was accepted last; nil if there has
// been none.
func (s *Session) Reply(ctx context.Context) (*fs.Stream, error) {
	var p store.Prompt
	var ok bool
	err := s.c.use(ctx, func(db *store.DB) (err error) { p, ok, err = db.Newest(ctx, s.id); return err })
	if err != nil || !ok {
		return nil, err
	}
	if p.State == store.Done {
		return settled(p), nil
	}
	return s.watch(ctx, p.ID)
}

// settled is the whole answer to a prompt that has settled.
func settled(p store.Prompt) *fs.Stream {
	return fs.NewSettled([]byte(closed(p.Answer)), ending(p.Outcome, p.Error))
}

// closed is text that ends in a newline, unless there is none.
func closed(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// ending is the error with which an answer ends.
func ending(o wire.Outcome, text string) error {
	switch o {
	case wire.OK, wire.Stopped:
		return nil
	}
	return fs.Errorf(fs.IO, "%s: %s", o, text)
}

// Last is the text of the answer that was given in full last, and when it was.
func (s *Session) Last(ctx context.Context) (text []byte, at time.Time, err error) {
	err = s.c.use(ctx, func(db *store.DB) error {
		p, ok, err := db.LastAnswer(ctx, s.id)
		if ok {
			text, at = []byte(closed(p.Final)), p.Ended
		}
		return err
	})
	return text, at, err
}

// wake makes the loop look for a prompt.
func (s *Session) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looping {
		s.more = true
		return
	}
	s.looping = s.c.rt.spawnLoop(s) // if it is too late, the next start goes on
}

// loop answers prompts until none waits or the runtime ends.
func (s *Session) loop() {
	for {
		worked := !s.c.rt.holds() && s.step(s.runs())
		ending := s.c.rt.holds()
		s.mu.Lock()
		if !worked && !s.more || ending {
			s.looping, s.stop = false, 0
			s.mu.Unlock()
			s.c.touch()
			return
		}
		s.more = false
		s.mu.Unlock()
	}
}

// storeRetry is how long the loop waits when the store fails.
const storeRetry = 5 * time.Second

// step answers one prompt. It reports false if none waits.
func (s *Session) step(ctx context.Context) bool {
	p, ok, err := s.next(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.c.rt.log.Error("the queue cannot be read", "office", s.c.Address.String(), "session", s.name, "err", err)
			sleep(ctx, storeRetry)
		}
		return true
	}
	switch {
	case s.wantsCompact():
		s.compactIdle(ctx)
		return true
	case ok:
		s.answerPrompt(ctx, p)
	}
	return ok
}

// next is the prompt to answer next. A session that is to start afresh has done
// so when it returns.
func (s *Session) next(ctx context.Context) (p store.Prompt, ok bool, err error) {
	release, err := acquire(ctx, s.admit)
	if err != nil {
		return p, false, err
	}
	defer release()
	err = s.c.use(ctx, func(db *store.DB) error {
		var fresh bool
		p, ok, fresh, err = db.Next(ctx, s.id, time.Now())
		if fresh {
			s.evict(0)
		}
		return err
	})
	return p, ok, err
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// Stop ends what is being answered, or is about to be.
func (s *Session) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.run != nil:
		s.run.cancel(harness.ErrStopped)
	case s.looping:
		s.stop = s.newest
	}
}

// Wait returns when nothing of the session runs or waits.
func (s *Session) Wait(ctx context.Context) error { return s.c.waitUntilIdle(ctx, s.id) }

// Wait returns when nothing of the office runs or waits.
func (c *Conversation) Wait(ctx context.Context) error { return c.waitUntilIdle(ctx, 0) }

// waitUntilIdle returns when no prompt of a session, or of any if session is 0,
// runs or waits.
func (c *Conversation) waitUntilIdle(ctx context.Context, session int64) error {
	for {
		news := c.nextNews()
		load, err := c.load(ctx, session)
		if err != nil || load == (store.Load{}) && !c.compacting(session) {
			return err
		}
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
