package runtime

import (
	"context"
	"strings"

	"mikan/harness"
	"mikan/harness/subagents"
	"mikan/runtime/store"
	"mikan/wire"
)

// subagents is the tool with which a run has others work for it, who can have the
// given tools. They are the run's: its stop, its meter and its hooks hold for
// them, and what they cost counts for its session.
func (s *Session) subagents(r *runner, now *run, tools []harness.Tool) harness.Tool {
	return subagents.Tool(subagents.Parent{
		Brain: subagents.Brain{Model: r.model, Provider: r.provider},
		Choose: func(ctx context.Context, ref string) (b subagents.Brain, err error) {
			if b.Model, b.Thinking, err = r.models.Find(ref); err != nil {
				return b, err
			}
			b.Provider, err = r.models.Provider(ctx, b.Model)
			return b, err
		},
		Profiles: s.c.profiles,
		Tools:    tools,
		Dir:      r.computer.Dir(),
		Hooks:    s.c.hooks().forRun(s, now.prompt),
		Meter:    now.meter,
		History:  func() []wire.Message { return s.past(r) },
		Spent: func(ctx context.Context, m wire.Message) error {
			return s.c.use(ctx, func(db *store.DB) error { return db.AddUsage(ctx, s.id, m) })
		},
		Session: string(s.c.Key) + "/" + s.name,
		Slots:   s.c.rt.subagents,
		Spawn:   s.c.rt.spawn,
	})
}

// profiles are the built-in ones, as agents/ in the shared workspace changes
// them.
func (c *Conversation) profiles() []subagents.Profile {
	docs, notes := harness.Documents(c.rt.ws.Root, "agents")
	list, more := subagents.Load(docs)
	if notes = append(notes, more...); len(notes) > 0 {
		c.rt.log.Warn("a subagent's profile is left out", "office", c.Address.String(), "what", strings.Join(notes, "; "))
	}
	return list
}
