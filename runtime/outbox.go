package runtime

import (
	"context"
	"strings"
	"time"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// silentMark begins a final text that nobody is to see.
const silentMark = "[SILENT]"

// maxNotice is the longest reason that is posted, in bytes.
const maxNotice = 400

// toPost is what the platform gets of an ending: the final text, or a notice.
func toPost(set store.Settlement) string {
	switch set.Outcome {
	case wire.OK:
		if strings.HasPrefix(strings.TrimSpace(set.Final), silentMark) {
			return ""
		}
		return strings.TrimSpace(set.Final)
	case wire.Stopped:
		return "stopped"
	}
	why := set.Error
	if len(why) > maxNotice {
		why = strings.ToValidUTF8(why[:maxNotice], "") + "…"
	}
	return string(set.Outcome) + ": " + why
}

// postKey is the key of the answer to a prompt.
func (c *Conversation) postKey(prompt int64) string {
	return string(c.Key) + "/" + store.Prompt{ID: prompt}.TS()
}

// post sees to it that what waits in the outbox is posted.
func (c *Conversation) post() {
	if c.desk() == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.posting {
		c.morePosts = true
		return
	}
	c.posting = c.rt.spawn(c.courier) // if it is too late, the next start goes on
}

// desk is where the office's platform has its adapter; nil for local.
func (c *Conversation) desk() *Desk { return c.rt.desks.find(c.Address.Platform) }

// courier posts one after the other, until none waits, nobody is there to post
// it, or the runtime ends. Who opens the desk's out wakes it again. Once the runs
// have ended it does what can be done at once, and no more.
func (c *Conversation) courier() {
	ctx := c.rt.posts
	for {
		worked := c.postNext(ctx)
		c.mu.Lock()
		if !worked && !c.morePosts || ctx.Err() != nil {
			c.posting = false
			c.mu.Unlock()
			c.touch()
			return
		}
		c.morePosts = false
		c.mu.Unlock()
	}
}

// postNext brings the oldest post a step further. It reports false if there is
// none, or nobody to post it.
func (c *Conversation) postNext(ctx context.Context) bool {
	var p store.Post
	var n int
	err := c.use(ctx, func(db *store.DB) (err error) {
		if n, err = db.Unposted(ctx); err == nil && n > 0 {
			p, _, err = db.NextPost(ctx)
		}
		return err
	})
	ending := c.rt.runs.Err() != nil
	if err != nil {
		c.outboxTrouble(c.rt.runs, err)
		return !ending
	}
	d := c.desk()
	if d == nil { // it was removed as the first message came
		return false
	}
	d.note(c.Address, n)
	if n == 0 {
		return false
	}
	if wait := time.Until(p.Due); wait > 0 {
		sleep(c.rt.runs, wait)
		return !ending
	}
	l := d.adapter()
	if l == nil {
		return false
	}
	c.try(ctx, d, l, p)
	return true
}

func (c *Conversation) outboxTrouble(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.rt.log.Error("the outbox does not work", "office", c.Address.String(), "err", err)
		sleep(ctx, storeRetry)
	}
}

// try posts p. If an adapter was asked before and has not said what came of it,
// the platform is asked first.
func (c *Conversation) try(ctx context.Context, d *Desk, l *fs.Listener, p store.Post) {
	j := judgement{caps: d.Caps(), times: c.rt.outbox, now: time.Now()}
	if p.State == store.PostSent {
		if p = c.readBack(ctx, d, l, j, p); p.State != store.PostWaiting {
			c.keep(ctx, d, p)
			return
		}
	}
	p.State, p.Tries = store.PostSent, p.Tries+1
	if err := c.use(ctx, func(db *store.DB) error { return db.SetPost(ctx, p) }); err != nil {
		c.outboxTrouble(ctx, err)
		return
	}
	reply, err := d.do(ctx, l, wire.OpRequest{Op: "post", Conversation: c.Address.ConversationID, Thread: p.Thread, Text: p.Text, Key: p.Key})
	j.now = time.Now()
	c.keep(ctx, d, j.posted(p, reply, err))
}

// readBack asks the platform whether p stands there.
func (c *Conversation) readBack(ctx context.Context, d *Desk, l *fs.Listener, j judgement, p store.Post) store.Post {
	if !j.caps.ReadsBack() {
		return j.lost(p)
	}
	reply, err := d.do(ctx, l, wire.OpRequest{Op: "history", Conversation: c.Address.ConversationID, Thread: p.Thread, Key: p.Key, Limit: searched})
	j.now = time.Now()
	return j.read(p, reply, err)
}

// keep stores how far a post has got, and tells of one that is settled.
func (c *Conversation) keep(ctx context.Context, d *Desk, p store.Post) {
	ctx = context.WithoutCancel(ctx)
	settled := p.State != store.PostWaiting && p.State != store.PostSent
	var rec wire.Record
	err := c.use(ctx, func(db *store.DB) (err error) {
		if settled {
			rec, err = db.FinishPost(ctx, p, time.Now())
			return err
		}
		return db.SetPost(ctx, p)
	})
	if err != nil {
		c.outboxTrouble(c.rt.runs, err)
		return
	}
	if settled {
		c.tellPost(d, p, rec)
	}
}

// tellPost tells of a post that is settled.
func (c *Conversation) tellPost(d *Desk, p store.Post, rec wire.Record) {
	prompt := ""
	if p.Prompt != 0 {
		prompt = store.Prompt{ID: p.Prompt}.TS()
	}
	c.publish(wire.Event{Type: wire.Logged, Prompt: prompt, Record: &rec})
	if p.State == store.PostDone {
		return
	}
	d.count(func(d *Desk) {
		if p.State == store.PostFailed {
			d.failed++
		} else {
			d.unknown++
		}
		d.trouble = c.Address.String() + ": " + p.Error
	})
	c.publish(wire.Event{Type: wire.Undelivered, Prompt: prompt, Error: p.Error})
	c.rt.log.Error("an answer is not posted", "office", c.Address.String(), "prompt", prompt, "state", string(p.State), "err", p.Error)
}

// lostNote tells the model of answers that are not on the platform.
func lostNote(list []store.Post) (note string, last int64) {
	var b strings.Builder
	for _, p := range list {
		text := p.Text
		if len(text) > maxNotice {
			text = strings.ToValidUTF8(text[:maxNotice], "") + "…"
		}
		b.WriteString("[An earlier answer of yours may not have reached the chat (" + p.Error + "). It began: " + text + "]\n")
		last = p.ID
	}
	return strings.TrimSpace(b.String()), last
}
