package runtime

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// parse reads a line of a ctl file; what is wrong with it is EINVAL.
func parse(w wire.Where, line string) (wire.Line, error) {
	l, err := wire.ParseLine(w, line)
	if err != nil {
		return l, fs.Errorf(fs.Invalid, "%w", err)
	}
	return l, nil
}

// kinds are the verbs that carry a prompt.
var kinds = map[string]store.Kind{"prompt": store.KindPrompt, "steer": store.KindSteer, "followup": store.KindFollowup}

// Command runs one line of the session's ctl file. It never waits for a run.
func (s *Session) Command(ctx context.Context, who Actor, line string) error {
	l, err := parse(wire.AtSession, line)
	if err != nil {
		return err
	}
	return s.do(ctx, who, l)
}

func (s *Session) do(ctx context.Context, who Actor, l wire.Line) error {
	arg := l.Arg(0)
	switch l.Verb {
	case "prompt", "steer", "followup":
		_, err := s.Prompt(ctx, who, kinds[l.Verb], arg)
		return err
	case "stop":
		if arg != "" && arg != s.name && arg != "all" {
			return fs.Errorf(fs.Invalid, "stop: this is the session %s; write to the office's ctl to stop another", s.name)
		}
		s.Stop()
		return nil
	case "new":
		if arg != "" {
			return fs.Errorf(fs.Invalid, "new: a session takes no name; write \"new %s\" to the office's ctl", arg)
		}
		return s.Renew(ctx)
	case "fork":
		if l.Arg(1) == "" {
			return s.fork(ctx, "", arg)
		}
		return s.fork(ctx, arg, l.Arg(1))
	case "label":
		return s.label(ctx, arg, l.Arg(1))
	case "model":
		return s.SetModel(ctx, arg)
	case "thinking":
		return s.SetThinking(ctx, arg)
	case "compact":
		return s.Compact()
	case "rename":
		return s.change(ctx, store.Change{Title: &arg}, wire.Entry{Type: wire.EntryInfo, Name: arg})
	case "archive":
		return s.Archive(ctx)
	}
	return fs.Errorf(fs.NotSupported, "%s: not known to a session", l.Verb)
}

// fork makes a session that begins with this one's history up to an entry.
func (s *Session) fork(ctx context.Context, entry, name string) error {
	_, err := s.c.addSession(ctx, name, func(db *store.DB) (store.Session, error) {
		return db.Fork(ctx, s.name, entry, name, s.c.Dir, time.Now())
	})
	if errors.Is(err, store.ErrNoEntry) {
		return fs.Errorf(fs.Invalid, "fork: %w", err)
	}
	return err
}

// label gives an entry of the session's transcript a label, or takes it away.
func (s *Session) label(ctx context.Context, entry, label string) error {
	err := s.c.use(ctx, func(db *store.DB) error { return db.LabelEntry(ctx, s.id, entry, label, time.Now()) })
	if errors.Is(err, store.ErrNoEntry) {
		return fs.Errorf(fs.Invalid, "label: %w", err)
	}
	if err == nil {
		s.c.touch()
	}
	return err
}

// Renew makes the session start afresh: what runs is ended, and the next prompt
// sees none of the past.
func (s *Session) Renew(ctx context.Context) error {
	done, err := s.c.mark(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := s.c.use(ctx, func(db *store.DB) error { return db.Renew(ctx, s.id) }); err != nil {
		return err
	}
	s.Stop()
	s.wake()
	return nil
}

// change changes the session's row and tells those who watch.
func (s *Session) change(ctx context.Context, change store.Change, entries ...wire.Entry) error {
	err := s.c.use(ctx, func(db *store.DB) error { return db.ChangeSession(ctx, s.id, change, time.Now(), entries...) })
	if err == nil {
		s.c.touch()
	}
	return err
}

// quiet is EBUSY if anything of the session runs or waits.
func (s *Session) quiet(ctx context.Context) error { return s.c.quiet(ctx, s.id, "session") }

// SetModel chooses a model, and perhaps a level, for this session alone.
func (s *Session) SetModel(ctx context.Context, ref string) error {
	m, level, err := s.c.rt.Models().Find(ref)
	if err != nil {
		return fs.Errorf(fs.Invalid, "model: %w", err)
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	name := m.String()
	change := store.Change{Model: &name}
	entries := []wire.Entry{{Type: wire.EntryModel, Provider: m.Provider, ModelID: m.ID}}
	if level != "" {
		change.Thinking = &level
		entries = append(entries, wire.Entry{Type: wire.EntryThinking, ThinkingLevel: level})
	}
	return s.change(ctx, change, entries...)
}

// SetThinking chooses a thinking level for this session alone.
func (s *Session) SetThinking(ctx context.Context, level string) error {
	if err := checkLevel(level); err != nil {
		return err
	}
	if err := s.quiet(ctx); err != nil {
		return err
	}
	return s.change(ctx, store.Change{Thinking: &level}, wire.Entry{Type: wire.EntryThinking, ThinkingLevel: level})
}

func checkLevel(level string) error {
	if slices.Contains(harness.Levels, level) {
		return nil
	}
	return fs.Errorf(fs.Invalid, "thinking: no level %q%s; the levels are %s", level, wire.DidYouMean(level, harness.Levels), strings.Join(harness.Levels, ", "))
}

// Archive puts the session away until it is made again.
func (s *Session) Archive(ctx context.Context) error {
	if s.name == wire.MainSession {
		return fs.Errorf(fs.Fixed, "the session main stays; \"new\" starts it afresh, and the office can be archived")
	}
	err := s.c.use(ctx, func(db *store.DB) error { return db.ArchiveSession(ctx, s.id, time.Now()) })
	if errors.Is(err, store.ErrBusy) {
		return fs.Errorf(fs.Busy, "the session is busy; stop it, or try again when it is idle")
	}
	s.c.touch()
	return err
}

// Command runs one line of the office's ctl file.
func (c *Conversation) Command(ctx context.Context, who Actor, line string) error {
	l, err := parse(wire.AtOffice, line)
	if err != nil {
		return err
	}
	switch l.Verb {
	case "stop":
		return c.Stop(ctx, l.Arg(0))
	case "new":
		if name := l.Arg(0); name != "" && name != wire.MainSession {
			_, err := c.CreateSession(ctx, name)
			return err
		}
		l.Args = nil
	case "model":
		return c.SetModel(ctx, l.Arg(0))
	case "thinking":
		if err := checkLevel(l.Arg(0)); err != nil {
			return err
		}
		return c.change(ctx, func(s *Settings) { s.LLM.ThinkingLevel = l.Arg(0) })
	case "archive":
		return c.Archive(ctx)
	}
	s, err := c.Session(ctx, wire.MainSession)
	if err != nil {
		return err
	}
	return s.do(ctx, who, l)
}

// Stop ends what runs in the session main, in the session named, or in all.
func (c *Conversation) Stop(ctx context.Context, which string) error {
	if which == "all" {
		c.mu.Lock()
		list := slices.Collect(maps.Values(c.sessions))
		c.mu.Unlock()
		for _, s := range list {
			s.Stop()
		}
		return nil
	}
	if which == "" {
		which = wire.MainSession
	}
	s, err := c.Session(ctx, which)
	if errors.Is(err, fs.NotExist) {
		return fs.Errorf(fs.NotExist, "stop: no session %q; sessions/ and tasks/ list them", which)
	}
	if err == nil {
		s.Stop()
	}
	return err
}

// SetModel writes a model, and perhaps a level, to the office's settings.
func (c *Conversation) SetModel(ctx context.Context, ref string) error {
	m, level, err := c.rt.Models().Find(ref)
	if err != nil {
		return fs.Errorf(fs.Invalid, "model: %w", err)
	}
	return c.change(ctx, func(s *Settings) {
		s.LLM.Provider, s.LLM.Model = m.Provider, m.ID
		set(&s.LLM.ThinkingLevel, level)
	})
}

// change changes the office's settings, if it is idle.
func (c *Conversation) change(ctx context.Context, f func(*Settings)) error {
	release, err := acquire(ctx, c.settings)
	if err != nil {
		return err
	}
	defer release()
	if err := c.idle(ctx); err != nil {
		return err
	}
	s, err := loadSettings(c.Office.Settings)
	if err != nil {
		return err
	}
	f(&s)
	if err := writeState(c.Office.Settings, s.format()); err != nil {
		return err
	}
	c.touch()
	return nil
}

// SettingsText is the office's settings.json and when it was changed; {} if
// there is none.
func (c *Conversation) SettingsText() ([]byte, time.Time, error) {
	return settingsText(c.Office.Settings)
}

// SettingsText is the daemon's settings.json and when it was changed; {} if
// there is none.
func (rt *Runtime) SettingsText() ([]byte, time.Time, error) { return settingsText(rt.settingsPath()) }

func settingsText(path string) ([]byte, time.Time, error) {
	data, ok, err := readState(path)
	if err != nil {
		return nil, time.Time{}, err
	}
	if !ok {
		return []byte("{}\n"), time.Time{}, nil
	}
	stamp, err := stampOf(path)
	return data, time.Unix(0, stamp.mtime), err
}

// SetSettings judges data and makes it the office's settings. A change of what
// live runners are made of is EBUSY while anything runs or waits.
func (c *Conversation) SetSettings(ctx context.Context, data []byte) error {
	next, err := c.rt.judge(data)
	if err != nil {
		return err
	}
	release, err := acquire(ctx, c.settings)
	if err != nil {
		return err
	}
	defer release()
	old, err := loadSettings(c.Office.Settings)
	if err != nil || old.baked(next) {
		if err := c.idle(ctx); err != nil {
			return err
		}
	}
	if err := writeState(c.Office.Settings, data); err != nil {
		return err
	}
	c.renewServers()
	c.touch()
	return nil
}

// SetSettings judges data and makes it the daemon's settings. Runs go on with
// what they began with; each session's next prompt sees the change.
func (rt *Runtime) SetSettings(data []byte) error {
	if _, err := rt.judge(data); err != nil {
		return err
	}
	if err := writeState(rt.settingsPath(), data); err != nil {
		return err
	}
	for _, c := range rt.live.all() {
		c.renewServers()
	}
	return nil
}

// judge parses settings that someone wants to write.
func (rt *Runtime) judge(data []byte) (Settings, error) {
	s, err := parseFor(rt.Models(), "settings.json", data)
	if err != nil {
		return s, fs.Errorf(fs.Invalid, "%w", err)
	}
	return s, nil
}

// Reload reads models.json and auth.json again and checks settings.json. If
// anything is malformed, what was read before stays in force.
func (rt *Runtime) Reload() error {
	if err := rt.load(); err != nil {
		return fs.Errorf(fs.Invalid, "reload: %w; what was read before stays in force", err)
	}
	return nil
}

// Drain takes no new prompts; what runs and waits is answered.
func (rt *Runtime) Drain() {
	rt.Refuse(fs.Errorf(fs.Again, "the daemon is draining and takes no new prompts"))
}
