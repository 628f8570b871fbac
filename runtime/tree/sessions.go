package tree

import (
	"context"
	"time"

	"mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

// sessionsDir is sessions/ of an office.
func (b *builder) sessionsDir(c *runtime.Conversation) fs.Node {
	d := &fs.Dir{
		List: c.SessionNames,
		Dynamic: func(ctx context.Context, name string) (fs.Node, error) {
			s, err := c.Session(ctx, name)
			if err != nil {
				return nil, err
			}
			return sessionDir(s), nil
		},
		Make: func(ctx context.Context, _ *fs.Identity, name string) (fs.Node, error) {
			s, err := c.CreateSession(ctx, name)
			if err != nil {
				return nil, err
			}
			return sessionDir(s), nil
		},
		Unmake: func(ctx context.Context, _ *fs.Identity, name string) error {
			s, err := c.Session(ctx, name)
			if err != nil {
				return err
			}
			return s.Archive(ctx)
		},
	}
	fill(d, wire.PlaceSessions, map[string]fs.Node{})
	return d
}

// sessionDir is sessions/<name>.
func sessionDir(s *runtime.Session) fs.Node {
	status := func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) { return s.Status(ctx) }
	d := &fs.Dir{}
	fill(d, wire.PlaceSession, map[string]fs.Node{
		"ctl": &fs.Ctl{
			State: status,
			Run: func(ctx context.Context, who *fs.Identity, line string) error {
				return s.Command(ctx, actor(who), line)
			},
		},
		"prompt": &fs.Body{Commit: func(ctx context.Context, who *fs.Identity, body []byte) error {
			_, _, err := ask(ctx, s, who, body)
			return err
		}},
		"ask": &fs.Ask{Commit: func(ctx context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
			return ask(ctx, s, who, body)
		}},
		"reply": &fs.Answer{Bind: func(ctx context.Context, who *fs.Identity) (*fs.Stream, error) {
			if err := s.Free(who); err != nil {
				return nil, err
			}
			return s.Reply(ctx)
		}},
		"last": &fs.Value{Get: func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) { return s.Last(ctx) }},
		"wait": &fs.Waiter{Wait: func(ctx context.Context, who *fs.Identity) error {
			if err := s.Free(who); err != nil {
				return err
			}
			return s.Wait(ctx)
		}},
		"feed":   s.Feed(),
		"status": &fs.Value{Get: status},
		"usage": &fs.Value{Get: func(ctx context.Context, _ *fs.Identity) ([]byte, time.Time, error) {
			data, err := s.Usage(ctx)
			return data, s.Changed(), err
		}},
		"transcript": &fs.Log{Source: source{s.TranscriptSize, s.ReadTranscript}},
	})
	return d
}

// ask gives a session a prompt and returns its answer and its number.
func ask(ctx context.Context, s *runtime.Session, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
	a, err := s.Prompt(ctx, actor(who), store.KindPrompt, string(body))
	return a.Answer, uint32(a.ID), err
}

// mainAsk is ask for the session main of an office.
func (b *builder) mainAsk(c *runtime.Conversation) func(context.Context, *fs.Identity, []byte) (*fs.Stream, uint32, error) {
	return func(ctx context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
		s, err := c.Session(ctx, wire.MainSession)
		if err != nil {
			return nil, 0, err
		}
		return ask(ctx, s, who, body)
	}
}
