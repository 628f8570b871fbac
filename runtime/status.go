package runtime

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"mikan/runtime/store"
	"mikan/wire"
)

// lines makes "key value" lines, leaving out those without a value.
func lines(kv ...string) []byte {
	var b bytes.Buffer
	for i := 0; i < len(kv); i += 2 {
		if kv[i+1] != "" {
			fmt.Fprintf(&b, "%s %s\n", kv[i], strings.ReplaceAll(kv[i+1], "\n", " "))
		}
	}
	return b.Bytes()
}

// unlessNone is n, or nothing for 0.
func unlessNone(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func state(running bool) string {
	if running {
		return "running"
	}
	return "idle"
}

// Status is the session's state, as key value lines, and when it changed.
func (s *Session) Status(ctx context.Context) ([]byte, time.Time, error) {
	running, load, err := s.doing(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	rest, row, err := s.about(ctx)
	all := append(lines("state", state(running), "queued", strconv.Itoa(load.Queued)), rest...)
	return append(all, lines("context", s.contextUse())...), row.Changed, err
}

// doing is whether something of the session runs and what waits behind it.
func (s *Session) doing(ctx context.Context) (running bool, load store.Load, err error) {
	load, err = s.c.load(ctx, s.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != nil && !s.run.begun && load.Queued > 0 {
		load.Queued-- // it is about to leave the queue
	}
	return s.run != nil, load, err
}

// about is what else the status of the session says.
func (s *Session) about(ctx context.Context) ([]byte, store.Session, error) {
	var outcome wire.Outcome
	var reason string
	var row store.Session
	err := s.c.use(ctx, func(db *store.DB) (err error) {
		if row, err = db.Session(ctx, s.name); err != nil {
			return err
		}
		outcome, reason, err = db.LastOutcome(ctx, s.id)
		return err
	})
	if err != nil {
		return nil, row, err
	}
	model, level := s.c.chosen(row)
	return lines(
		"session", s.name,
		"title", row.Title,
		"model", model,
		"thinking", level,
		"last", string(outcome),
		"error", reason,
	), row, nil
}

// chosen names the model and level that the next prompt would get; what cannot
// be decided is left out, and the prompt will tell why.
func (c *Conversation) chosen(row store.Session) (model, level string) {
	m := c.rt.Models()
	d, err := c.decide(row, decision{models: m}, m.Known)
	if err != nil {
		return "", ""
	}
	return d.model.String(), d.level
}

// Status is the office's state, as key value lines, and when it changed. What is
// not about the office as a whole is about its session main. An office whose
// history cannot be used says so.
func (c *Conversation) Status(ctx context.Context) ([]byte, time.Time, error) {
	load, err := c.load(ctx, 0)
	if u := unusable(err); u != nil {
		return lines("state", "unusable", "error", u.Error()), c.Changed(), nil
	}
	if err != nil {
		return nil, time.Time{}, err
	}
	s, err := c.Session(ctx, wire.MainSession)
	if err != nil {
		return nil, time.Time{}, err
	}
	tasks, err := c.openTasks(ctx)
	if err != nil {
		return nil, time.Time{}, err
	}
	rest, _, err := s.about(ctx)
	running, starting := c.running()
	load.Queued = max(load.Queued-starting, 0)
	text := append(lines("state", state(running > 0), "queued", strconv.Itoa(load.Queued), "tasks", unlessNone(tasks)), rest...)
	return append(text, c.serverLines()...), c.Changed(), err
}

// Usage is what the session has used, and of it the last run, as key value lines.
func (s *Session) Usage(ctx context.Context) ([]byte, error) { return s.c.usage(ctx, s.id) }

// Usage is what all sessions of the office have used, and of it the run that ended
// last, as key value lines.
func (c *Conversation) Usage(ctx context.Context) ([]byte, error) { return c.usage(ctx, 0) }

func (c *Conversation) usage(ctx context.Context, session int64) ([]byte, error) {
	var list []store.Usage
	var last store.Spent
	var ran bool
	err := c.use(ctx, func(db *store.DB) (err error) {
		if list, err = db.Usage(ctx, session); err == nil {
			last, ran, err = db.LastSpent(ctx, session)
		}
		return err
	})
	var total store.Usage
	for _, u := range list {
		total.Add(u.Usage)
		total.Calls += u.Calls
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "input %d\noutput %d\ncacheRead %d\ncacheWrite %d\ncost %.6f\ncalls %d\n",
		total.Input, total.Output, total.CacheRead, total.CacheWrite, total.Cost.Total, total.Calls)
	for _, u := range list {
		fmt.Fprintf(&b, "model %s %s\n", u.Model, used(u.Usage, u.Calls))
	}
	if ran {
		fmt.Fprintf(&b, "last %s\n", used(last.Usage, last.Calls))
	}
	return b.Bytes(), err
}

// used is usage in one line.
func used(u wire.Usage, calls int) string {
	return fmt.Sprintf("input %d output %d cacheRead %d cacheWrite %d cost %.6f calls %d",
		u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Cost.Total, calls)
}

// ModelList is the models file: one model a line, with its window and price.
func (rt *Runtime) ModelList() []byte {
	var b bytes.Buffer
	m := rt.Models()
	for _, x := range m.List() {
		fmt.Fprintf(&b, "%s ctx=%d in=%g out=%g", x, x.Window, x.Price.Input, x.Price.Output)
		if m.Ready(x) {
			b.WriteString(" ready")
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// Status is the daemon's state, as key value lines; more are appended by the
// program, which knows its version, mount and socket.
func (rt *Runtime) Status() ([]byte, error) {
	list, err := rt.Addresses()
	if err != nil {
		return nil, err
	}
	running := 0
	for _, c := range rt.live.all() {
		n, _ := c.running()
		running += n
	}
	model, why, err := rt.knownModel()
	if err != nil {
		model, why = "none", err.Error()
	}
	refuse := ""
	if err := rt.accepting(); err != nil {
		refuse = err.Error()
	}
	return lines(
		"pid", strconv.Itoa(os.Getpid()),
		"uptime", strconv.Itoa(int(time.Since(rt.started).Seconds())),
		"offices", strconv.Itoa(len(list)),
		"running", strconv.Itoa(running),
		"model", model,
		"why", why,
		"refusing", refuse,
	), nil
}

// running counts the sessions of the office that are answering, and those of
// them whose prompt has not left the queue yet.
func (c *Conversation) running() (running, starting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sessions {
		s.mu.Lock()
		if s.run != nil {
			running++
			if !s.run.begun {
				starting++
			}
		}
		s.mu.Unlock()
	}
	return running, starting
}

// LogSize and ReadLog are the office's log.
func (c *Conversation) LogSize(ctx context.Context) (size int64, last time.Time, err error) {
	err = c.use(ctx, func(db *store.DB) (err error) { size, last, err = db.LogSize(ctx); return err })
	return size, last, err
}

// ReadLog reads the office's log at an offset; 0 is its end.
func (c *Conversation) ReadLog(ctx context.Context, p []byte, off int64) (n int, err error) {
	err = c.use(ctx, func(db *store.DB) (err error) { n, err = db.ReadLog(ctx, p, off); return err })
	return n, err
}

// TranscriptSize is the size of the session's transcript and when it grew.
func (s *Session) TranscriptSize(ctx context.Context) (int64, time.Time, error) {
	row, err := s.c.row(ctx, s.name)
	return row.Size, row.Changed, err
}

// ReadTranscript reads the session's transcript at an offset; 0 is its end.
func (s *Session) ReadTranscript(ctx context.Context, p []byte, off int64) (n int, err error) {
	err = s.c.use(ctx, func(db *store.DB) (err error) { n, err = db.ReadTranscript(ctx, s.id, p, off); return err })
	return n, err
}
