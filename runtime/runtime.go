package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/harness/mcp"
	"mikan/harness/models"
	"mikan/harness/subagents"
	"mikan/runtime/store"
	"mikan/wire"
)

// openStores is how many offices' databases are open at most.
const openStores = 64

// Config is what a runtime is made of.
type Config struct {
	Workspace *Workspace
	// LoadModels reads models.json and auth.json; it is called at the start and
	// by reload.
	LoadModels func() (*models.Registry, error)
	// Computer makes the computer of an office, and says in one line for the
	// agent what its commands can reach.
	Computer func(context.Context, *Office) (c harness.Computer, confinement string, err error)
	Log      *slog.Logger
	Outbox   OutboxTimes
	MCP      mcp.Options // what is 0 has its default
}

// Runtime owns the offices of one state directory.
type Runtime struct {
	cfg     Config
	ws      *Workspace
	log     *slog.Logger
	index   *store.Index
	pool    *store.Pool
	models  atomic.Pointer[models.Registry]
	desks   *desks
	owner   string // the actor that the daemon's own user is
	outbox  OutboxTimes
	feed    *fs.Feed
	started time.Time

	runs     context.Context // of all runs; cancelled with harness.ErrInterrupted
	stopRuns context.CancelCauseFunc
	// tasks is runs for those of background tasks, which an end does not wait for.
	tasks     context.Context
	stopTasks context.CancelCauseFunc
	posts     context.Context // of the couriers, which may outlive the runs
	stopPosts context.CancelFunc
	loops     sync.WaitGroup // of the sessions
	owned     sync.WaitGroup // everything else that was begun
	ending    sync.Once      // Shutdown

	creating chan struct{} // held while an office is made or put away

	publishing sync.Mutex // makes the order of seq that of the lines
	seq        uint64

	live      *live
	subagents subagents.Slots

	mu       sync.Mutex
	archived map[Address]bool
	refuse   error      // why no new prompts are taken; nil: they are
	resumed  bool       // sessions may take prompts: what a crash interrupted is closed
	early    []*Session // woken before that
	suspects []*Session // to be tried one after the other then
	held     bool       // no session takes another prompt
	left     error      // what could not be settled at the end
	closing  bool       // no goroutine is added to owned any more
}

// Start opens the state directory's index. Nothing runs before [Runtime.Resume].
func Start(ctx context.Context, cfg Config) (*Runtime, error) {
	rt := &Runtime{
		cfg: cfg, ws: cfg.Workspace, log: cfg.Log, pool: store.NewPool(openStores), started: time.Now(),
		owner: ownerID(), live: newLive(), subagents: subagents.NewSlots(),
		archived: map[Address]bool{}, creating: make(chan struct{}, 1),
	}
	rt.pool.Aside = func(u *store.Unusable) { rt.log.Error("a history was damaged", "err", u) }
	rt.feed, rt.outbox = newFeed(rt), cfg.Outbox.withDefaults()
	rt.runs, rt.stopRuns = context.WithCancelCause(context.WithoutCancel(ctx))
	rt.tasks, rt.stopTasks = context.WithCancelCause(rt.runs)
	rt.posts, rt.stopPosts = context.WithCancel(context.WithoutCancel(ctx))
	if err := rt.load(); err != nil {
		return nil, err
	}
	var err error
	if rt.desks, err = loadDesks(rt, filepath.Join(rt.ws.StateDir, "platforms.json")); err != nil {
		return nil, err
	}
	if err := rt.openIndex(ctx); err != nil {
		return nil, err
	}
	rt.spawn(rt.janitor)
	return rt, nil
}

// spawn runs f on a goroutine that Close waits for, and reports false when it is
// too late for that.
func (rt *Runtime) spawn(f func()) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.closing {
		return false
	}
	rt.owned.Go(f)
	return true
}

// spawnLoop is spawn for the loop of s. It is too early before [Runtime.Resume] has
// closed what a crash interrupted, which then wakes s, and too late once sessions
// are held.
func (rt *Runtime) spawnLoop(s *Session) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	switch {
	case rt.held:
		return false
	case !rt.resumed:
		rt.early = append(rt.early, s)
		return false
	}
	rt.loops.Go(s.loop)
	return true
}

// load reads the models and checks the settings.
func (rt *Runtime) load() error {
	m, err := rt.cfg.LoadModels()
	if err != nil {
		return err
	}
	data, ok, err := readState(rt.settingsPath())
	if err != nil {
		return err
	}
	if ok {
		if _, err := parseFor(m, rt.settingsPath(), data); err != nil {
			return err
		}
	}
	rt.models.Store(m)
	return nil
}

func (rt *Runtime) settingsPath() string { return settingsIn(rt.ws.StateDir) }

// parseFor parses settings, whose model must be one that m knows; file is their
// name for the errors.
func parseFor(m *models.Registry, file string, data []byte) (Settings, error) {
	s, err := ParseSettings(file, data)
	if err != nil || s.LLM.Provider == "" {
		return s, err
	}
	if _, _, err := m.Find(s.LLM.Provider + "/" + s.LLM.Model); err != nil {
		return Settings{}, &wire.JSONError{File: file, Line: lineOf(data, "llm.model"), Text: "llm.model: " + err.Error()}
	}
	return s, nil
}

// openIndex opens index.db and, if it had to be made anew, fills it from the
// registry: every office may have work.
func (rt *Runtime) openIndex(ctx context.Context) error {
	ix, fresh, err := store.OpenIndex(ctx, filepath.Join(rt.ws.StateDir, "index.db"))
	if err != nil {
		return err
	}
	rt.index = ix
	if fresh {
		err = rt.fillIndex(ctx)
	}
	if err == nil {
		err = rt.loadArchived(ctx)
	}
	if err != nil {
		return errors.Join(err, ix.Close())
	}
	return nil
}

// fillIndex puts every office into a new index: any may have work.
func (rt *Runtime) fillIndex(ctx context.Context) error {
	list, err := rt.ws.registry.List()
	if err != nil {
		return err
	}
	var pending, archived []string
	for _, a := range list {
		o := rt.ws.Office(a)
		if _, err := os.Lstat(o.Archived); err == nil {
			archived = append(archived, string(o.Key))
		}
		if _, err := os.Lstat(o.Sessions); err == nil {
			pending = append(pending, string(o.Key))
		}
	}
	return rt.index.Fill(ctx, pending, archived)
}

// loadArchived reads which offices are archived. The mark in the office decides;
// the index, which may say too much, tells where to look for it.
func (rt *Runtime) loadArchived(ctx context.Context) error {
	keys, err := rt.index.Archived(ctx)
	if err != nil {
		return err
	}
	return rt.each(keys, func(a Address) error {
		if _, err := os.Lstat(rt.ws.Office(a).Archived); err == nil {
			rt.archived[a] = true
			return nil
		}
		return rt.index.SetArchived(ctx, string(a.Key()), false)
	})
}

// each calls f for the addresses that keys belong to.
func (rt *Runtime) each(keys []string, f func(Address) error) error {
	if len(keys) == 0 {
		return nil
	}
	list, err := rt.ws.registry.List()
	if err != nil {
		return err
	}
	byKey := make(map[string]Address, len(list))
	for _, a := range list {
		byKey[string(a.Key())] = a
	}
	for _, key := range keys {
		a, ok := byKey[key]
		if !ok {
			rt.log.Warn("the index names an office that the registry does not know", "key", key)
			continue
		}
		if err := f(a); err != nil {
			return err
		}
	}
	return nil
}

// Resume closes what a crash interrupted and goes on with what waits, that which
// has come in since the start too. It opens no office without work. One that cannot
// be opened is logged, and looked at again at the next start.
func (rt *Runtime) Resume(ctx context.Context) error {
	keys, err := rt.index.Pending(ctx)
	if err != nil {
		return err
	}
	err = rt.each(keys, func(a Address) error {
		if err := rt.conversation(a).recover(ctx); err != nil {
			rt.log.Error("an office cannot go on", "office", a.String(), "err", err)
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	rt.mu.Lock()
	rt.resumed = true
	early := rt.early
	rt.early = nil
	rt.mu.Unlock()
	for _, s := range early {
		s.wake()
	}
	rt.spawn(rt.trySuspects)
	return nil
}

// Refuse makes every new prompt fail with err.
func (rt *Runtime) Refuse(err error) {
	rt.mu.Lock()
	rt.refuse = err
	rt.mu.Unlock()
}

func (rt *Runtime) accepting() error {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.refuse
}

// Feed is the stream of every event of every office.
func (rt *Runtime) Feed() *fs.Feed { return rt.feed }

// Models is the registry in force.
func (rt *Runtime) Models() *models.Registry { return rt.models.Load() }

// DefaultModel is the model of an office that chooses none, and why it is.
func (rt *Runtime) DefaultModel(ctx context.Context) (model, why string, err error) {
	s, err := loadSettings(rt.settingsPath())
	if err != nil {
		return "", "", err
	}
	m, why, err := rt.Models().Default(ctx, s.LLM.Provider, s.LLM.Model)
	return m.String(), why, err
}

// knownModel is DefaultModel as far as it is known without asking the network.
func (rt *Runtime) knownModel() (model, why string, err error) {
	s, err := loadSettings(rt.settingsPath())
	if err != nil {
		return "", "", err
	}
	m, why, err := rt.Models().Known(s.LLM.Provider, s.LLM.Model)
	return m.String(), why, err
}

// Workspace is the layout that the runtime works on.
func (rt *Runtime) Workspace() *Workspace { return rt.ws }

// newFeed makes the feed of something, whose slow readers are told what they
// missed.
func newFeed(of any) *fs.Feed {
	return &fs.Feed{Of: of, Lost: func(n int) []byte {
		line, _ := json.Marshal(wire.Event{Time: time.Now().UTC(), Type: wire.Dropped, N: n})
		return append(line, '\n')
	}}
}

// publish numbers and dates an event and gives it to the feeds of the daemon,
// of the office and of the session, if anyone reads them.
func (rt *Runtime) publish(e wire.Event, feeds ...*fs.Feed) {
	rt.publishing.Lock()
	defer rt.publishing.Unlock()
	rt.seq++
	e.Seq, e.Time = rt.seq, time.Now().UTC()
	feeds = slices.DeleteFunc(append(feeds, rt.feed), (*fs.Feed).Unread)
	if len(feeds) == 0 {
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		rt.log.Error("an event cannot be encoded", "type", e.Type, "err", err)
		return
	}
	for _, f := range feeds {
		f.Publish(line)
	}
}

// The janitor's times.
const (
	sweepEvery = time.Minute
	runnerIdle = time.Hour   // an idle runner is let go
	indexIdle  = time.Minute // an idle office's mark in the index is cleared
)

// janitor lets go of what has been idle for long, until the runs are stopped.
func (rt *Runtime) janitor() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-rt.runs.Done():
			return
		case <-tick.C:
			for _, c := range rt.live.all() {
				c.sweep(rt.runs)
			}
		}
	}
}
