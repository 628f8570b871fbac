package runtime

import (
	"context"
	"slices"
	"strings"
	"time"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// recover closes what a crash interrupted and wakes what waits.
func (c *Conversation) recover(ctx context.Context) error {
	c.rt.live.wake(c)
	c.mu.Lock()
	c.marked = true
	c.mu.Unlock()
	var waiting []int64
	var rows []store.Session
	var unposted int
	err := c.use(ctx, func(db *store.DB) (err error) {
		if rows, err = db.Sessions(ctx); err != nil {
			return err
		}
		for _, row := range rows {
			if err := c.closeInterrupted(ctx, db, row); err != nil {
				return err
			}
		}
		if waiting, err = db.Waiting(ctx); err != nil {
			return err
		}
		unposted, err = db.Unposted(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if d := c.desk(); d != nil {
		d.note(c.Address, unposted)
		c.post()
	}
	for _, row := range rows {
		if slices.Contains(waiting, row.ID) {
			c.session(row).wake()
		}
	}
	return nil
}

// closeInterrupted settles the run that a session was in when the daemon died:
// each of its tool calls gets its result.
func (c *Conversation) closeInterrupted(ctx context.Context, db *store.DB, row store.Session) error {
	p, ok, err := db.RunningPrompt(ctx, row.ID)
	if err != nil || !ok {
		return err
	}
	msgs, err := db.RunMessages(ctx, p)
	if err != nil {
		return err
	}
	var texts []string
	for _, m := range msgs {
		if text := m.PlainText(); m.Role == wire.Assistant && text != "" {
			texts = append(texts, text)
		}
	}
	set := store.Settlement{
		Run: p.Run, Session: row.ID, Outcome: wire.Interrupted, Error: interruptedText,
		Answer: strings.Join(texts, "\n\n"), Msgs: harness.Close(msgs, interruptedText),
	}
	set.Text = said(set, 0)
	set.Post, set.Key = toPost(set), c.postKey(p.Run)
	_, err = db.Settle(ctx, set, time.Now())
	return err
}
