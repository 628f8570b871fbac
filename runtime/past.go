package runtime

import (
	"context"
	"errors"
	"fmt"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// past is what the office of a session remembers, for the session's agent.
type past struct{ s *Session }

var _ harness.Past = past{}

// Sessions implements [harness.Past].
func (p past) Sessions(ctx context.Context, limit, skip int) (list []harness.PastSession, err error) {
	err = p.s.c.use(ctx, func(db *store.DB) error {
		rows, err := db.PastSessions(ctx, store.Page{Limit: limit, Skip: skip})
		for _, r := range rows {
			list = append(list, harness.PastSession{
				Name: r.Name, ID: r.Header.ID, Title: r.Title, Changed: r.Changed, Archived: r.Archived, Current: r.ID == p.s.id,
			})
		}
		return err
	})
	return list, err
}

// Search implements [harness.Past].
func (p past) Search(ctx context.Context, query, session string, limit, skip int) (list []harness.PastEntry, err error) {
	err = p.s.c.use(ctx, func(db *store.DB) error {
		id, err := p.session(ctx, db, session)
		if err != nil {
			return err
		}
		hits, err := db.Search(ctx, query, id, store.Page{Limit: limit, Skip: skip})
		list = pastEntries(hits)
		return err
	})
	return list, err
}

// Entries implements [harness.Past].
func (p past) Entries(ctx context.Context, session, around string, limit, skip int) (list []harness.PastEntry, err error) {
	err = p.s.c.use(ctx, func(db *store.DB) error {
		id, err := p.session(ctx, db, session)
		if err != nil {
			return err
		}
		hits, err := db.Entries(ctx, id, around, store.Page{Limit: limit, Skip: skip})
		list = pastEntries(hits)
		return err
	})
	return list, err
}

// Chat implements [harness.Past].
func (p past) Chat(ctx context.Context, query string, limit, skip int) (list []wire.Record, err error) {
	err = p.s.c.use(ctx, func(db *store.DB) (err error) {
		list, err = db.Records(ctx, query, store.Page{Limit: limit, Skip: skip})
		return err
	})
	return list, err
}

// session finds the session that a model means; none is 0, for all.
func (p past) session(ctx context.Context, db *store.DB, ref string) (int64, error) {
	switch ref {
	case "":
		return 0, nil
	case "current":
		return p.s.id, nil
	}
	s, err := db.SessionCalled(ctx, ref)
	if errors.Is(err, store.ErrNoSession) {
		err = fmt.Errorf("no session %.80q; the action sessions lists them", ref)
	}
	return s.ID, err
}

func pastEntries(list []store.PastEntry) []harness.PastEntry {
	var all []harness.PastEntry
	for _, e := range list {
		all = append(all, harness.PastEntry{Session: e.Session, Entry: e.Entry})
	}
	return all
}
