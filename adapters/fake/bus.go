package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"mikan/wire"
)

// Message is a message on a [Bus].
type Message struct {
	TS        string
	Thread    string
	User      string // "bot" for the bot
	Text      string
	Key       string // of the operation that posted it
	File      []byte // that was uploaded; Text is its name
	Edits     int
	Deleted   bool
	Reactions []string
}

// Bus is a chat platform in memory. It is safe for use by many goroutines.
type Bus struct {
	mu            sync.Mutex
	last          int // number of the last message
	deliveries    int
	conversations map[string][]*Message
	users         []wire.OpUser
	events        []wire.InMessage // that the adapter has not acknowledged
	news          chan struct{}    // closed, and replaced, when there is an event
	troubles      []*Trouble
	done          []wire.OpRequest // every operation that was tried
}

// NewBus returns a platform on which nothing has been said.
func NewBus() *Bus {
	return &Bus{conversations: map[string][]*Message{}, news: make(chan struct{})}
}

// AddUser adds a member.
func (b *Bus) AddUser(u wire.OpUser) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users = append(b.users, u)
}

// Say posts a message of a person and delivers it to the adapter. What m leaves
// out of ID, TS and UserName is made up. It returns the message's ts.
func (b *Bus) Say(m wire.InMessage) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.TS == "" {
		m.TS = b.nextTS()
	}
	b.conversations[m.Conversation] = append(b.conversations[m.Conversation], &Message{TS: m.TS, Thread: m.Thread, User: m.User, Text: m.Text})
	b.deliver(m)
	return m.TS
}

// Edit changes the text of a person's message.
func (b *Bus) Edit(conversation, ts, text string) error {
	return b.change(conversation, ts, func(m *Message) wire.MessageChange {
		m.Text = text
		m.Edits++
		return wire.Edited
	})
}

// Delete deletes a person's message.
func (b *Bus) Delete(conversation, ts string) error {
	return b.change(conversation, ts, func(m *Message) wire.MessageChange {
		m.Deleted, m.Text = true, ""
		return wire.Deleted
	})
}

func (b *Bus) change(conversation, ts string, f func(*Message) wire.MessageChange) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	m := b.find(conversation, ts)
	if m == nil {
		return fmt.Errorf("no message %s in %s", ts, conversation)
	}
	change := f(m)
	b.deliver(wire.InMessage{Conversation: conversation, TS: ts, Thread: m.Thread, User: m.User, Text: m.Text, Change: change})
	return nil
}

// Deliver gives the adapter an event once more, or one of which the platform
// knows nothing.
func (b *Bus) Deliver(m wire.InMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.deliver(m)
}

// deliver queues an event; b.mu is held.
func (b *Bus) deliver(m wire.InMessage) {
	b.deliveries++
	if m.ID == "" {
		m.ID = fmt.Sprintf("delivery-%d", b.deliveries)
	}
	if m.UserName == "" {
		m.UserName = m.User
	}
	b.events = append(b.events, m)
	close(b.news)
	b.news = make(chan struct{})
}

func (b *Bus) nextTS() string {
	b.last++
	return fmt.Sprintf("%d.%06d", 1_700_000_000+b.last, b.last)
}

// find is a message that is not deleted; b.mu is held.
func (b *Bus) find(conversation, ts string) *Message {
	for _, m := range b.conversations[conversation] {
		if m.TS == ts && !m.Deleted {
			return m
		}
	}
	return nil
}

// Transcript is what is to be seen of a conversation, oldest first.
func (b *Bus) Transcript(conversation string) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Message
	for _, m := range b.conversations[conversation] {
		if !m.Deleted {
			c := *m
			c.Reactions = slices.Clone(m.Reactions)
			list = append(list, c)
		}
	}
	return list
}

// Answers are the texts of the bot in a conversation, oldest first.
func (b *Bus) Answers(conversation string) []string {
	var list []string
	for _, m := range b.Transcript(conversation) {
		if m.User == bot {
			list = append(list, m.Text)
		}
	}
	return list
}

// Operations are the operations that were tried so far, in order.
func (b *Bus) Operations() []wire.OpRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.done)
}

// Undelivered counts the events that the adapter has not acknowledged.
func (b *Bus) Undelivered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.events)
}

// next waits for an event; it is given again until it is acknowledged.
func (b *Bus) next(ctx context.Context) (wire.InMessage, error) {
	for {
		b.mu.Lock()
		news := b.news
		if len(b.events) > 0 {
			m := b.events[0]
			b.mu.Unlock()
			return m, nil
		}
		b.mu.Unlock()
		select {
		case <-news:
		case <-ctx.Done():
			return wire.InMessage{}, ctx.Err()
		}
	}
}

// acknowledge takes the event that next gave off the queue.
func (b *Bus) acknowledge() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = b.events[1:]
}

// bot is the bot's user id.
const bot = "bot"

var errNoMessage = errors.New("message_not_found")

// Do does an operation as the bot. The error is an OpError if the platform
// refuses.
func (b *Bus) Do(r wire.OpRequest) (wire.OpAnswer, error) { return b.DoWith(r, nil) }

// DoWith is Do with the file of an upload.
func (b *Bus) DoWith(r wire.OpRequest, file []byte) (wire.OpAnswer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done = append(b.done, r)
	switch r.Op {
	case "post":
		return wire.OpAnswer{TS: b.post(r, file)}, nil
	case "upload":
		r.Text = r.Name
		return wire.OpAnswer{TS: b.post(r, file)}, nil
	case "update", "delete", "react":
		m := b.find(r.Conversation, r.TS)
		if m == nil {
			return wire.OpAnswer{}, wire.OpError{Text: errNoMessage.Error(), Final: true}
		}
		m.apply(r)
		return wire.OpAnswer{}, nil
	case "history":
		return wire.OpAnswer{Messages: b.history(r)}, nil
	case "users":
		return wire.OpAnswer{Users: slices.Clone(b.users)}, nil
	case "dm":
		return wire.OpAnswer{Conversation: "D" + r.User}, nil
	case "typing":
		return wire.OpAnswer{}, nil
	}
	return wire.OpAnswer{}, wire.OpError{Text: r.Op + " is not known here", Final: true}
}

func (b *Bus) post(r wire.OpRequest, file []byte) string {
	m := &Message{TS: b.nextTS(), Thread: r.Thread, User: bot, Text: r.Text, Key: r.Key, File: file}
	b.conversations[r.Conversation] = append(b.conversations[r.Conversation], m)
	return m.TS
}

// apply does to a message what an operation says.
func (m *Message) apply(r wire.OpRequest) {
	switch {
	case r.Op == "update":
		m.Text = r.Text
		m.Edits++
	case r.Op == "delete":
		m.Deleted = true
	case r.Remove:
		m.Reactions = slices.DeleteFunc(m.Reactions, func(e string) bool { return e == r.Emoji })
	case !slices.Contains(m.Reactions, r.Emoji):
		m.Reactions = append(m.Reactions, r.Emoji)
	}
}

func (b *Bus) history(r wire.OpRequest) []wire.OpMessage {
	list := []wire.OpMessage{}
	for _, m := range b.conversations[r.Conversation] {
		if m.Deleted || r.Thread != "" && m.Thread != r.Thread || r.Key != "" && m.Key != r.Key || m.TS <= r.Oldest {
			continue
		}
		list = append(list, wire.OpMessage{TS: m.TS, Thread: m.Thread, User: m.User, Name: m.User, Text: m.Text, Bot: m.User == bot, Key: m.Key})
	}
	if r.Limit > 0 && len(list) > r.Limit {
		list = list[len(list)-r.Limit:]
	}
	return list
}
