package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// Actor is who does something, for records.
type Actor struct {
	ID     string       // "local:ann"
	Name   string       // "ann"
	Origin string       // what he is, such as "event", if he is no person who waits for an answer
	Client *fs.Identity // as whom he came in; nil: not through the tree
}

// Conversation is an office at work.
type Conversation struct {
	rt *Runtime
	*Office

	feed     *fs.Feed
	hooks    func() *Hooks // made when they are first asked for
	tools    func() *Tools // so too
	asking   questions
	settings chan struct{}   // held while the settings are changed
	incoming chan struct{}   // held while a message of the platform is taken in
	writers  harness.Writers // of the files on its computer
	servers  servers

	mu        sync.Mutex
	sessions  map[string]*Session
	news      chan struct{}   // closed, and replaced, when something changed
	closed    bool            // archived, or about to be: no prompt is let in
	marked    bool            // the index says that there may be work
	accepting int             // prompts on their way into the store
	clearing  chan struct{}   // closed when the mark's clearing is over; nil: none
	posting   bool            // the courier lives
	morePosts bool            // the courier is to look once more before it ends
	awaited   map[int64]int64 // by the id of a session, that for which it waits
}

// conversation returns the office at work, whether it is registered or not.
func (rt *Runtime) conversation(a Address) *Conversation {
	return rt.live.get(a, func() *Conversation { return newConversation(rt, a) })
}

func newConversation(rt *Runtime, a Address) *Conversation {
	c := &Conversation{
		rt: rt, Office: rt.ws.Office(a), sessions: map[string]*Session{}, news: make(chan struct{}),
		settings: make(chan struct{}, 1), incoming: make(chan struct{}, 1), closed: rt.isArchived(a),
	}
	c.feed, c.servers.rt = newFeed(c), rt
	c.hooks = sync.OnceValue(func() *Hooks { return newHooks(c) })
	c.tools = sync.OnceValue(func() *Tools { return loadTools(c.ToolsPath, c) })
	return c
}

// Conversation returns a registered office that is not archived.
func (rt *Runtime) Conversation(a Address) (*Conversation, error) {
	has, err := rt.Has(a)
	if err != nil {
		return nil, err
	}
	if !has {
		return nil, fs.NotExist
	}
	return rt.conversation(a), nil
}

// Has reports whether an office is registered and not archived.
func (rt *Runtime) Has(a Address) (bool, error) {
	has, err := rt.ws.registry.Has(a)
	return has && !rt.isArchived(a), err
}

func (rt *Runtime) isArchived(a Address) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.archived[a]
}

// Platforms returns the built-in platform and those that have an office, in
// order.
func (rt *Runtime) Platforms() ([]string, error) {
	names, err := rt.ws.registry.Platforms()
	if i, found := slices.BinarySearch(names, Local); !found {
		names = slices.Insert(slices.Clone(names), i, Local)
	}
	return names, err
}

// Addresses returns the registered offices that are not archived, in order.
func (rt *Runtime) Addresses() ([]Address, error) {
	list, err := rt.ws.registry.List()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if len(rt.archived) == 0 {
		return list, err
	}
	return slices.DeleteFunc(slices.Clone(list), func(a Address) bool { return rt.archived[a] }), err
}

// Lost reports whether an office has no history, not even one that was set aside:
// [Runtime.Create] makes it again.
func (rt *Runtime) Lost(a Address) bool { return store.Lost(rt.ws.Office(a).Sessions) }

// Create makes an office, or brings an archived one back; one that is there is
// an error. What a crash left half made is completed.
func (rt *Runtime) Create(ctx context.Context, a Address) (*Conversation, error) {
	if err := rt.accepting(); err != nil {
		return nil, err
	}
	release, err := acquire(ctx, rt.creating)
	if err != nil {
		return nil, err
	}
	defer release()
	c := rt.conversation(a)
	switch there, err := c.whole(ctx); {
	case err != nil:
		return nil, err
	case there:
		return nil, fs.Errorf(fs.Exist, "the office %s exists", a)
	}
	return c, rt.complete(ctx, c)
}

// complete makes what an office lacks.
func (rt *Runtime) complete(ctx context.Context, c *Conversation) error {
	if err := rt.ws.Ensure(ctx, c.Office); err != nil {
		return err
	}
	if err := c.createStore(ctx); err != nil {
		return err
	}
	return rt.unarchive(ctx, c)
}

// createStore makes the office's store and its session main.
func (c *Conversation) createStore(ctx context.Context) error {
	db, err := store.Create(ctx, c.Office.Sessions)
	if err != nil {
		return err
	}
	_, err = db.CreateSession(ctx, wire.MainSession, c.Dir, time.Now())
	if errors.Is(err, store.ErrSessionExists) {
		err = nil
	}
	return errors.Join(err, db.Close())
}

// acquire takes what only one may have at a time.
func acquire(ctx context.Context, token chan struct{}) (release func(), err error) {
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Archive puts the office away until it is created again. Its data stays. The
// index says so before the office does, so that it never says too little.
func (c *Conversation) Archive(ctx context.Context) error {
	release, err := acquire(ctx, c.rt.creating)
	if err != nil {
		return err
	}
	defer release()
	if err := c.close(ctx); err != nil {
		return err
	}
	err = c.rt.index.SetArchived(ctx, string(c.Key), true)
	if err == nil {
		err = writeState(c.Archived, nil)
	}
	if err != nil {
		c.open()
		return fmt.Errorf("archive: %w", err)
	}
	c.servers.close()
	c.rt.mu.Lock()
	defer c.rt.mu.Unlock()
	c.rt.archived[c.Address] = true
	return nil
}

// close lets no prompt in any more, if the office is idle.
func (c *Conversation) close(ctx context.Context) error {
	c.mu.Lock()
	busy := c.accepting > 0
	c.closed = true
	c.mu.Unlock()
	err := c.idle(ctx)
	if err == nil && busy {
		err = fs.Errorf(fs.Busy, "a prompt is coming in; try again when the office is idle")
	}
	if err != nil {
		c.open()
	}
	return err
}

func (c *Conversation) open() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = false
}

// unarchive brings an office back.
func (rt *Runtime) unarchive(ctx context.Context, c *Conversation) error {
	c.open()
	if !rt.isArchived(c.Address) {
		return nil
	}
	if err := os.Remove(c.Archived); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	rt.mu.Lock()
	delete(rt.archived, c.Address)
	rt.mu.Unlock()
	return rt.index.SetArchived(ctx, string(c.Key), false)
}

// use calls f with the office's store.
func (c *Conversation) use(ctx context.Context, f func(*store.DB) error) error {
	return c.rt.pool.Use(ctx, c.Office.Sessions, f)
}

// Hooks are the office's hooks.
func (c *Conversation) Hooks() *Hooks { return c.hooks() }

// Tools are the tools that clients add to the agent of the office.
func (c *Conversation) Tools() *Tools { return c.tools() }

// Feed is the stream of the office's events.
func (c *Conversation) Feed() *fs.Feed { return c.feed }

// Session returns a session that is there and not archived.
func (c *Conversation) Session(ctx context.Context, name string) (*Session, error) {
	row, err := c.row(ctx, name)
	if err != nil {
		return nil, err
	}
	if row.Archived {
		return nil, fs.NotExist
	}
	return c.session(row), nil
}

func (c *Conversation) row(ctx context.Context, name string) (row store.Session, err error) {
	err = c.use(ctx, func(db *store.DB) error {
		row, err = db.Session(ctx, name)
		return err
	})
	if errors.Is(err, store.ErrNoSession) {
		err = fs.NotExist
	}
	return row, err
}

func (c *Conversation) session(row store.Session) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[row.Name]
	if s == nil {
		s = newSession(c, row)
		c.sessions[row.Name] = s
	}
	return s
}

// SessionNames returns the names of the sessions that are not archived and no
// tasks.
func (c *Conversation) SessionNames(ctx context.Context) ([]string, error) {
	sessions, _, err := c.names(ctx)
	return sessions, err
}

// CreateSession makes an empty session, or brings an archived one back.
func (c *Conversation) CreateSession(ctx context.Context, name string) (*Session, error) {
	return c.addSession(ctx, name, func(db *store.DB) (store.Session, error) {
		return db.CreateSession(ctx, name, c.Dir, time.Now())
	})
}

func (c *Conversation) addSession(ctx context.Context, name string, add func(*store.DB) (store.Session, error)) (*Session, error) {
	if err := checkSessionName(name); err != nil {
		return nil, err
	}
	var row store.Session
	err := c.use(ctx, func(db *store.DB) (err error) { row, err = add(db); return err })
	switch {
	case errors.Is(err, store.ErrSessionExists):
		return nil, fs.Errorf(fs.Exist, "the session %s exists", name)
	case errors.Is(err, store.ErrNoSession):
		return nil, fs.NotExist
	case err != nil:
		return nil, err
	}
	c.touch()
	return c.session(row), nil
}

// checkSessionName reports a name that stands for no suffix of a session key.
func checkSessionName(name string) error {
	suffix, ok := wire.SessionSuffix(name)
	switch {
	case len(name) > 255:
		return fs.Errorf(fs.NameTooLong, "a session's name has at most 255 bytes")
	case name == wire.MainSession:
		return nil
	case !utf8.ValidString(suffix) || strings.ContainsFunc(suffix, unicode.IsControl) || strings.ContainsAny(suffix, `/\`):
		return fs.Errorf(fs.Invalid, "session %q: a name has no slash and no control character", name)
	case !ok && suffix != "":
		return fs.Errorf(fs.Invalid, "session %q: write %q", name, wire.SessionName(suffix))
	case !ok:
		return fs.Errorf(fs.Invalid, "session %q: a percent sign is written %%25", name)
	}
	return nil
}

// idle is EBUSY if anything runs or waits in the office.
func (c *Conversation) idle(ctx context.Context) error { return c.quiet(ctx, 0, "office") }

func (c *Conversation) quiet(ctx context.Context, session int64, what string) error {
	load, err := c.load(ctx, session)
	if err == nil && load != (store.Load{}) {
		err = fs.Errorf(fs.Busy, "the %s is busy (%d running, %d queued); stop it, or try again when it is idle", what, load.Running, load.Queued)
	}
	return err
}

// load counts what runs and what waits in a session, or in all if it is 0.
func (c *Conversation) load(ctx context.Context, session int64) (load store.Load, err error) {
	err = c.use(ctx, func(db *store.DB) (err error) { load, err = db.Load(ctx, session); return err })
	return load, err
}

// touch notes that something of the office changed, and wakes who waits for it.
func (c *Conversation) touch() {
	c.rt.live.touch(c.Address)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.news)
	c.news = make(chan struct{})
}

// nextNews is closed when something of the office changes.
func (c *Conversation) nextNews() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.news
}

// Changed is when the office's state changed last.
func (c *Conversation) Changed() time.Time {
	if t, ok := c.rt.live.lastChange(c.Address); ok {
		return t
	}
	return c.rt.started
}
