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
	suspects, newest := map[int64]bool{}, map[int64]int64{}
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
		for _, id := range waiting {
			p, _, err := db.Newest(ctx, id)
			if err != nil {
				return err
			}
			newest[id] = p.ID
			if suspects[id], err = db.Suspect(ctx, id); err != nil {
				return err
			}
			if suspects[id] {
				continue // it is counted when it is tried
			}
			if _, _, _, err := db.CountStart(ctx, id); err != nil {
				return err
			}
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
		if !slices.Contains(waiting, row.ID) {
			continue
		}
		s := c.session(row)
		s.accepted(newest[row.ID])
		if suspects[row.ID] {
			c.rt.suspect(s)
		} else {
			s.wake()
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
	var spent store.Spent
	for _, m := range msgs {
		if m.Usage != nil {
			spent.Usage.Add(*m.Usage)
			spent.Calls++
		}
		if text := m.PlainText(); m.Role == wire.Assistant && text != "" {
			texts = append(texts, text)
		}
	}
	set := store.Settlement{
		Run: p.Run, Session: row.ID, Outcome: wire.Interrupted, Error: interruptedText,
		Answer: strings.Join(texts, "\n\n"), Msgs: harness.Close(msgs, interruptedText),
		Spent: spent,
	}
	if isTask(row.Name) {
		if resumed, err := c.resume(ctx, db, p, set); resumed || err != nil {
			return err
		}
	}
	return c.settleAlone(ctx, db, set)
}

// settleAlone settles a run that nobody is at work on.
func (c *Conversation) settleAlone(ctx context.Context, db *store.DB, set store.Settlement) error {
	set.Text = said(set, 0)
	set.Post, set.Key = toPost(set), c.postKey(set.Run)
	_, err := db.Settle(ctx, set, time.Now())
	return err
}
