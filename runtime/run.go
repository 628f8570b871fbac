package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// answerPrompt runs one prompt from the queue to its settlement.
func (s *Session) answerPrompt(base context.Context, p store.Prompt) {
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	r := &run{prompt: p, cancel: cancel}
	s.setRun(r)
	s.publish(wire.Event{Type: wire.Status, Prompt: p.TS(), State: "running"})
	t := &telling{s: s, p: p}
	a, _ := s.answer(p.ID)
	t.join(a)
	end := s.execute(ctx, r, t)
	tell := func() {}
	if end.Outcome == wire.Interrupted && s.isTask() && s.hasBegun(r) {
		tell = s.suspend(base, p, t, end)
	} else if end.Outcome != wire.Interrupted || s.hasBegun(r) {
		tell = s.settle(base, p, t, end)
	} // else it is still in the queue, for the next start
	s.setRun(nil)
	tell()
	s.publish(wire.Event{Type: wire.Status, Prompt: p.TS(), State: "idle"})
}

func (s *Session) setRun(r *run) {
	s.mu.Lock()
	s.run = r
	if r != nil {
		if r.prompt.ID <= s.stop {
			r.cancel(harness.ErrStopped)
		}
		s.stop = 0
	}
	s.mu.Unlock()
	s.c.touch()
}

func (s *Session) hasBegun(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.begun
}

// execute leases a runner and lets the harness answer the prompt.
func (s *Session) execute(ctx context.Context, now *run, t *telling) harness.Ending {
	row, err := s.c.row(ctx, s.name)
	if err != nil {
		return failed(ctx, err)
	}
	if row.Unused() {
		if err := s.descend(ctx, row, now.prompt); err != nil {
			return failed(ctx, err)
		}
		if row, err = s.c.row(ctx, s.name); err != nil {
			return failed(ctx, err)
		}
	}
	r, release, err := s.lease(ctx, row)
	if err != nil {
		return failed(ctx, err)
	}
	defer release()
	told, notes := s.prepare(ctx, row, r)
	h := &history{s: s, r: r, run: now, told: told, taken: []store.Prompt{now.prompt}, onTaken: t.take}
	now.meter = harness.NewMeter(s.limits(r, now.prompt), nil)
	run := &harness.Run{
		Model: r.model, Provider: r.provider, Thinking: r.level, System: r.system, Tools: s.toolbox(r, now),
		Store: h, Session: string(s.c.Key) + "/" + s.name,
		Prompt: userMessage(now.prompt, notes...),
		Hooks:  s.c.hooks().forRun(s, now.prompt),
		Steer:  func(ctx context.Context) []wire.Message { return s.steers(ctx, h) },
		Emit:   t.tell,
		Meter:  now.meter,

		WantCompact: s.takeCompact,
	}
	// Do leaves behind what does not heed its context in time.
	defer s.c.rt.spawn(run.Wait)
	end := run.Do(ctx)
	end.Usage, end.Calls = now.meter.Spent() // with that of subagents
	if len(h.taken) > 0 {                    // their messages are not in the store, and they still wait
		end.Final = slices.DeleteFunc(end.Final, func(m wire.Message) bool { return m.Role == wire.User })
	}
	return end
}

// limits are those of a run that answers p.
func (s *Session) limits(r *runner, p store.Prompt) harness.Limits {
	if s.isTask() {
		return r.budget.limits(false).Or(taskLimits)
	}
	return r.budget.limits(p.Autonomous())
}

// failed is the ending of a run that could not begin.
func failed(ctx context.Context, err error) harness.Ending {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, harness.ErrStopped):
		return harness.Ending{Outcome: wire.Stopped}
	case cause != nil, errors.Is(err, errEnding):
		return harness.Ending{Outcome: wire.Interrupted}
	}
	return harness.Ending{Outcome: wire.Failed, Err: err}
}

// prepare sees to it that the run has its system prompt and the office its copy
// of the log. The prompt stays the same until the session starts afresh, so that
// what the provider caches of it stays good; the notes say what has changed in
// memory and skills since the model was told, and what was said in the chat. told
// is to be recorded when the run begins.
func (s *Session) prepare(ctx context.Context, row store.Session, r *runner) (told store.Told, before []string) {
	if err := s.c.copyLog(ctx); err != nil {
		s.c.rt.log.Warn("the agent's copy of the log is behind", "office", s.c.Address.String(), "err", err)
	}
	in, notes := s.c.promptInput(r)
	for _, n := range notes {
		s.c.rt.log.Warn("left out of the prompt", "office", s.c.Address.String(), "what", n)
	}
	now := harness.SystemPrompt(in)
	told = store.Told{System: row.System, Memory: digest(now)}
	lost, last := s.lost(ctx)
	told.Lost = last
	var note, heard string
	heard, told.Heard = s.heard(ctx, row, roomToHear(r.model))
	switch {
	case row.System == "":
		told.System = now
	case told.Memory != row.Memory:
		note = harness.ChangeNote(in)
	}
	r.system = told.System
	return told, []string{strings.TrimSpace(note + "\n\n" + lost), heard}
}

// lost is what the model is to be told of answers that are not on the platform,
// and the last of them.
func (s *Session) lost(ctx context.Context) (note string, last int64) {
	if s.c.desk() == nil {
		return "", 0
	}
	var list []store.Post
	err := s.c.use(ctx, func(db *store.DB) (err error) { list, err = db.LostPosts(ctx, s.id); return err })
	if err != nil {
		return "", 0 // the next prompt tells
	}
	return lostNote(list)
}

// userMessage is the message that a prompt becomes, with the notes that come
// before it.
func userMessage(p store.Prompt, notes ...string) wire.Message {
	m := wire.Message{Role: wire.User, Timestamp: p.Accepted.UnixMilli()}
	for _, note := range notes {
		if note != "" {
			m.Content = append(m.Content, wire.TextPart(note))
		}
	}
	m.Content = append(m.Content, wire.TextPart(harness.UserText(p.Accepted, nameOf(p), p.Thread, p.Text)))
	return m
}

// nameOf is what the actor of a prompt is called.
func nameOf(p store.Prompt) string {
	if p.Name != "" {
		return p.Name
	}
	_, name, _ := strings.Cut(p.Actor, ":")
	return name
}

// steers takes the steering texts that wait; they leave the queue when their
// messages are committed. The hook sees them as it sees a prompt, and what it
// denies is settled so. Those of whom may not steer this run stay in the queue.
func (s *Session) steers(ctx context.Context, h *history) []wire.Message {
	var list []store.Prompt
	err := s.c.use(ctx, func(db *store.DB) (err error) { list, err = db.Steers(ctx, s.id); return err })
	if err != nil {
		return nil // they run as prompts later
	}
	var msgs []wire.Message
	for _, p := range list {
		if !s.c.rt.maySteer(p, h.run.prompt) {
			continue
		}
		st := harness.Start{Prompt: p.Text, System: h.r.system}
		switch err := s.c.hooks().start(ctx, s, p, &st); {
		case ctx.Err() != nil:
			return nil // they stay in the queue
		case err != nil:
			t := &telling{s: s, p: p}
			s.settle(ctx, p, t, harness.Ending{Outcome: wire.Failed, Err: &harness.HookError{Reason: err.Error()}})()
			continue
		}
		p.Text = st.Prompt
		msgs = append(msgs, userMessage(p))
		h.taken = append(h.taken, p)
	}
	return msgs
}

// settle records how a run ended and returns what tells of it. While the store
// fails it tries again; at the daemon's end it leaves the run to the next start,
// which closes it.
func (s *Session) settle(base context.Context, p store.Prompt, t *telling, end harness.Ending) (tell func()) {
	set := store.Settlement{
		Run: p.ID, Session: s.id, Outcome: end.Outcome, Msgs: end.Final,
		Answer: t.text(end.Final), Final: final(end.Final), Error: reason(end),
		Spent: store.Spent{Usage: end.Usage, Calls: end.Calls}, Lost: end.Lost,
	}
	set.Text = said(set, s.queued(base))
	set.Post, set.Key = toPost(set), s.c.postKey(p.ID)
	set.Refused = errors.As(end.Err, new(*harness.HookError))
	ctx := context.WithoutCancel(base)
	var rec *wire.Record
	var took []store.Prompt
	for {
		err := s.c.use(ctx, func(db *store.DB) (err error) {
			if took, err = db.Taken(ctx, p.ID); err != nil {
				return err
			}
			rec, err = db.Settle(ctx, set, time.Now())
			return err
		})
		if err == nil {
			break
		}
		s.c.rt.log.Error("a run cannot be settled", "office", s.c.Address.String(), "session", s.name, "prompt", p.TS(), "err", err)
		if base.Err() != nil {
			s.c.rt.leave(fmt.Errorf("%s/sessions/%s: its run cannot be settled, which the next start does: %w", s.c.Address, s.name, err))
			return func() { t.breakOff(fs.Errorf(fs.IO, "interrupted: how it ended cannot be recorded: %w", err)) }
		}
		sleep(base, storeRetry)
	}
	s.c.post()
	s.mu.Lock()
	if s.runner != nil {
		s.runner.history = append(s.runner.history, end.Final...)
	}
	s.mu.Unlock()
	return func() {
		t.finish(end.Final)
		for _, q := range append(took, p) {
			s.settleAnswer(q.ID, ending(set.Outcome, set.Error))
			s.publish(wire.Event{Type: wire.Settled, Prompt: q.TS(), Outcome: set.Outcome, Error: set.Error, Usage: &end.Usage})
		}
		if rec != nil {
			s.publish(wire.Event{Type: wire.Logged, Prompt: p.TS(), Record: rec})
		}
	}
}

// reason is why a run did not end well, in one sentence.
func reason(end harness.Ending) string {
	switch end.Outcome {
	case wire.OK:
		return ""
	case wire.Stopped:
		return "stopped"
	case wire.Interrupted:
		return interruptedText
	}
	if end.Err == nil {
		return errNothing.Error()
	}
	return end.Err.Error()
}

const interruptedText = "the daemon ended while it ran"

// queued is how many prompts wait behind the one that is being answered.
func (s *Session) queued(ctx context.Context) int {
	load, _ := s.c.load(context.WithoutCancel(ctx), s.id)
	return load.Queued
}

// said is what the log records of an answer.
func said(set store.Settlement, queued int) string {
	if set.Outcome == wire.OK {
		return set.Final
	}
	text := set.Answer
	if text != "" {
		text += "\n"
	}
	switch {
	case set.Outcome != wire.Stopped:
		return text + fmt.Sprintf("[%s: %s]", set.Outcome, set.Error)
	case queued > 0:
		return text + fmt.Sprintf("[stopped; %d queued]", queued)
	}
	return text + "[stopped]"
}

// final is the text of the last assistant message.
func final(msgs []wire.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == wire.Assistant {
			return msgs[i].PlainText()
		}
	}
	return ""
}
