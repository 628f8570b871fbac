package runtime

import (
	"context"
	"errors"
	"strings"
	"time"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// Deliver takes in a message that an adapter has written to in. When it returns
// nil, the message is on disk: in the log and, if it asks for an answer, in the
// queue of its session. One that was delivered before changes nothing.
func (d *Desk) Deliver(ctx context.Context, body []byte) error {
	m, a, session, err := d.parse(body)
	if err != nil {
		return err
	}
	if err := d.rt.accepting(); err != nil {
		return err
	}
	if d.rt.desks.find(d.Name) != d {
		return fs.Errorf(fs.NotExist, "the platform %s has been removed", d.Name)
	}
	c, err := d.rt.appear(ctx, a)
	if err != nil {
		return err
	}
	if err := c.arrive(ctx, m, session); err != nil {
		return err
	}
	d.count(func(d *Desk) { d.in++ })
	return nil
}

// parse reads a message, and refuses one whose address, ids and session key do
// not belong together. session is a name in the path.
func (d *Desk) parse(body []byte) (m wire.InMessage, a Address, session string, err error) {
	if err := wire.DecodeJSON("message", body, &m); err != nil {
		return m, a, "", fs.Errorf(fs.Invalid, "%w", err)
	}
	if err := m.Check(); err != nil {
		return m, a, "", fs.Errorf(fs.Invalid, "%w", err)
	}
	m = m.Complete()
	if a, err = NewAddress(d.Name, m.Conversation); err != nil {
		return m, a, "", fs.Errorf(fs.Invalid, "%w", err)
	}
	if len(wire.EscapeName(m.Conversation)) > 255 {
		return m, a, "", fs.Errorf(fs.NameTooLong, "an office's name has at most 255 bytes")
	}
	suffix, _ := wire.SessionKeySuffix(m.Conversation, m.Session)
	session = wire.SessionName(suffix)
	return m, a, session, checkSessionName(session)
}

// appear returns an office that a message has come for. It is made if it is not
// there, brought back if it is archived, and completed if a crash has left it half
// made.
func (rt *Runtime) appear(ctx context.Context, a Address) (*Conversation, error) {
	c := rt.conversation(a)
	if there, err := c.whole(ctx); there || err != nil {
		return c, err
	}
	release, err := acquire(ctx, rt.creating)
	if err != nil {
		return nil, err
	}
	defer release()
	if there, err := c.whole(ctx); there || err != nil { // another message came first
		return c, err
	}
	return c, rt.complete(ctx, c)
}

// whole reports whether an office is registered, not archived, and has all that
// it needs. One whose history cannot be used is an error: it is not made anew.
func (c *Conversation) whole(ctx context.Context) (bool, error) {
	has, err := c.rt.ws.registry.Has(c.Address)
	if err != nil || !has || c.rt.isArchived(c.Address) {
		return false, err
	}
	_, err = c.row(ctx, wire.MainSession)
	if unusable(err) != nil {
		return false, err
	}
	return err == nil, nil
}

// unusable is what is wrong with an office's history, if err says that.
func unusable(err error) *store.Unusable {
	var u *store.Unusable
	errors.As(err, &u)
	return u
}

// arrive records a message and wakes the session that is to answer it.
func (c *Conversation) arrive(ctx context.Context, m wire.InMessage, session string) error {
	release, err := acquire(ctx, c.incoming)
	if err != nil {
		return err
	}
	defer release()
	done, err := c.mark(ctx)
	if errors.Is(err, fs.NotExist) {
		return fs.Errorf(fs.Again, "the office is being archived; deliver the message again")
	}
	if err != nil {
		return err
	}
	defer done()
	p, refused := c.asked(m), false
	if s, err := c.Session(ctx, session); err == nil {
		release, err := acquire(ctx, s.admit)
		if err != nil {
			return err
		}
		defer release()
		p.Kind, err = s.whenBusy(ctx, p)
		if refused = errors.Is(err, errAtWork); err != nil && !refused {
			return err
		}
	} // else it is made with the message, and nothing runs there yet
	var a store.Arrival
	err = c.use(ctx, func(db *store.DB) (err error) {
		if refused {
			a, err = db.Refuse(ctx, m, session, c.Dir, p, c.refusedPost(m))
		} else {
			a, err = db.Arrive(ctx, m, session, c.Dir, p)
		}
		return err
	})
	if errors.Is(err, store.ErrQueueFull) {
		return fs.Errorf(fs.Again, "the session %s has %d prompts waiting; deliver the message %s again later", session, store.QueueLimit, m.TS)
	}
	if err != nil {
		return err
	}
	c.tellArrival(a)
	if refused {
		c.post()
	}
	return nil
}

// asked is the prompt that a message becomes.
func (c *Conversation) asked(m wire.InMessage) store.Prompt {
	text := strings.TrimSpace(m.Text)
	if text == "" {
		names := make([]string, len(m.Attachments))
		for i, a := range m.Attachments {
			names[i] = a.Name
		}
		text = "(attached: " + strings.Join(names, ", ") + ")"
	}
	name := m.UserName
	if name == "" {
		name = m.User
	}
	return store.Prompt{
		Kind: store.KindPrompt, Actor: c.Address.Platform + ":" + m.User, Name: name, Text: text,
		Source: m.TS, Thread: m.Thread, Reply: m.Reply, Accepted: time.Now(),
	}
}

// tellArrival tells the feeds what has arrived, and wakes its session.
func (c *Conversation) tellArrival(a store.Arrival) {
	if a.Prompt.ID == 0 {
		if a.Record != nil {
			c.publish(wire.Event{Type: wire.Logged, Record: a.Record})
		}
		c.touch()
		return
	}
	s := c.session(a.Session)
	s.accepted(a.Prompt.ID)
	s.publish(wire.Event{Type: wire.Accepted, Prompt: a.Prompt.TS(), Actor: a.Prompt.Actor, Text: a.Prompt.Text})
	if a.Record != nil {
		s.publish(wire.Event{Type: wire.Logged, Prompt: a.Prompt.TS(), Record: a.Record})
	}
	c.touch()
	s.wake()
}

// publish gives an event that is of no session to the feeds of the office and
// the daemon.
func (c *Conversation) publish(e wire.Event) {
	e.Office = c.Address.String()
	c.rt.publish(e, c.feed)
}
