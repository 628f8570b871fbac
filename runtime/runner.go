package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"mikan/harness"
	"mikan/harness/mcp"
	"mikan/harness/models"
	"mikan/runtime/store"
	"mikan/wire"
)

// runner is what a session's runs share: a model and the way to it, a computer,
// tools, and the history that the model sees. It is made once, leased while in
// use, and made anew when what it was made of has changed.
type runner struct {
	decision
	provider harness.Provider
	computer harness.Computer
	tools    []harness.Tool
	servers  *mcp.Set       // of the run; nil: none
	system   string         // the system prompt
	history  []wire.Message // what the store has of the branch in use

	confinement string // what the computer's commands can reach, in one line

	leases int
	used   time.Time
}

// decision is what settings and state say for the runs of a session. It is
// taken once for a runner, and nothing recomputes a part of it.
type decision struct {
	models   *models.Registry
	settings [2]fileStamp // of the daemon's and the office's settings.json
	session  string       // the session's own model and level
	model    harness.Model
	why      string
	level    string
	skills   []string
	budget   Budget
	// mcpServers are those that the settings name; those in use are the runner's
	// servers.
	mcpServers map[string]MCPServer
}

// sameSources reports whether d was taken from the same files as e.
func (d decision) sameSources(e decision) bool {
	return d.models == e.models && d.settings == e.settings && d.session == e.session
}

// sources names what a decision for the session would be taken from now.
func (s *Session) sources(row store.Session) (d decision, err error) {
	d.models, d.session = s.c.rt.Models(), row.Model+" "+row.Thinking
	for i, path := range []string{s.c.rt.settingsPath(), s.c.Office.Settings} {
		if d.settings[i], err = stampOf(path); err != nil {
			return d, err
		}
	}
	return d, nil
}

// decide resolves settings into a decision. choose finds the model of an office
// that names one, or none.
func (c *Conversation) decide(row store.Session, d decision, choose func(provider, model string) (harness.Model, string, error)) (decision, error) {
	settings, err := c.effective()
	if err != nil {
		return d, err
	}
	d.skills, d.budget, d.mcpServers = settings.Skills, settings.Budget, settings.MCPServers
	ref, level := row.Model, ""
	if ref != "" {
		d.model, level, err = d.models.Find(ref)
		d.why = "chosen for the session"
	} else {
		d.model, d.why, err = choose(settings.LLM.Provider, settings.LLM.Model)
	}
	for _, l := range []string{row.Thinking, level, settings.LLM.ThinkingLevel, "off"} {
		if d.level == "" {
			d.level = l
		}
	}
	return d, err
}

// effective is the office's settings over the daemon's.
func (c *Conversation) effective() (Settings, error) {
	global, err := loadSettings(c.rt.settingsPath())
	if err != nil {
		return Settings{}, err
	}
	own, err := loadSettings(c.Office.Settings)
	return own.Over(global), err
}

// lease returns the session's runner, made anew if its sources have changed, and
// what gives it back. Only the session's loop asks for it, so that it is never
// made twice at once.
func (s *Session) lease(ctx context.Context, row store.Session) (*runner, func(), error) {
	now, err := s.sources(row)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	r := s.runner
	s.mu.Unlock()
	if r == nil || !r.sameSources(now) {
		if r, err = s.makeRunner(ctx, row, now); err != nil {
			return nil, nil, err
		}
	}
	leave := s.useServers(ctx, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runner = r
	r.leases++
	return r, func() {
		leave()
		s.mu.Lock()
		defer s.mu.Unlock()
		r.leases--
		r.used = time.Now()
	}, nil
}

// makeRunner makes a runner, or nothing.
func (s *Session) makeRunner(ctx context.Context, row store.Session, from decision) (r *runner, err error) {
	d, err := s.c.decide(row, from, func(provider, model string) (harness.Model, string, error) {
		return from.models.Default(ctx, provider, model)
	})
	if err != nil {
		return nil, err
	}
	r = &runner{decision: d}
	if r.provider, err = d.models.Provider(ctx, d.model); err != nil {
		return nil, err
	}
	if r.computer, r.confinement, err = s.c.rt.cfg.Computer(ctx, s.c.Office); err != nil {
		return nil, err
	}
	r.tools = harness.Tools(r.computer, &s.c.writers)
	err = s.c.use(ctx, func(db *store.DB) (err error) {
		r.history, err = s.load(ctx, db)
		return err
	})
	return r, err
}

// evict drops an idle runner that has not been used for at least age, and
// reports whether there is one still.
func (s *Session) evict(age time.Duration) (warm bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runner; r != nil && r.leases == 0 && time.Since(r.used) >= age {
		s.runner, s.context = nil, 0
	}
	return s.runner != nil
}

// digest tells one system prompt from another.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// history is the store of one run: the runner's history in memory, which is
// never ahead of the disk.
type history struct {
	s   *Session
	r   *runner
	run *run
	// taken are prompts whose messages come with the next Append, and told what is
	// recorded with the first.
	taken   []store.Prompt
	told    store.Told
	onTaken func([]store.Prompt)
}

var _ harness.Store = (*history)(nil)

// Context returns what the model is to see.
func (h *history) Context(context.Context) ([]wire.Message, error) {
	return slices.Clone(h.r.history), nil
}

// Compact commits a compaction and goes on with what a restart would read.
func (h *history) Compact(ctx context.Context, c harness.Compaction) error {
	var summary wire.Message
	err := h.s.c.use(ctx, func(db *store.DB) (err error) {
		summary, err = db.Compact(ctx, h.s.id, store.Compaction{
			Entry: wire.Entry{Summary: c.Summary, TokensBefore: c.Tokens, Details: &c.Details},
			Keep:  c.Keep, Paid: c.Paid, Memory: digest(h.r.system), // what was told of changes since then may be gone
		}, time.Now())
		return err
	})
	if err != nil {
		return err
	}
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.r.history = wire.Compacted(summary, h.r.history[len(h.r.history)-c.Keep:])
	return nil
}

// Append commits messages; a prompt among them leaves the queue with it.
func (h *history) Append(ctx context.Context, msgs ...wire.Message) error {
	err := h.s.c.use(ctx, func(db *store.DB) error {
		if len(h.taken) > 0 {
			return db.Begin(ctx, h.run.prompt.ID, h.taken, msgs, h.told, time.Now())
		}
		return db.Append(ctx, h.s.id, msgs, time.Now())
	})
	if err != nil {
		return err
	}
	h.s.mu.Lock()
	h.run.begun = true
	h.r.history = append(h.r.history, msgs...)
	h.s.mu.Unlock()
	h.onTaken(h.taken)
	h.taken, h.told = nil, store.Told{}
	return nil
}

// past is what the model has seen so far, for the tools of its run.
func (s *Session) past(r *runner) []wire.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(r.history)
}

// errNothing is the outcome of a run that ended without saying why.
var errNothing = errors.New("the run ended without an answer")
