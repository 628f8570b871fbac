package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// Chat does an operation on the office's platform, as a chat file is asked to,
// and gives what comes of it. It does not wait for that.
func (c *Conversation) Chat(ctx context.Context, who Actor, body []byte) (*fs.Stream, error) {
	r, err := c.operation(body)
	if err != nil {
		return nil, err
	}
	if d := c.desk(); d != nil && who.Client != nil && d.Out.Holds(who.Client) {
		return nil, fs.Errorf(fs.Busy, "you hold a request of platforms/%s/out; answer it first", d.Name)
	}
	return c.start(ctx, r)
}

// start has the platform do an operation that was checked, and gives what comes
// of it.
func (c *Conversation) start(ctx context.Context, r wire.OpRequest) (*fs.Stream, error) {
	if c.Address.Platform == Local {
		return c.localChat(ctx, r)
	}
	d := c.desk()
	if d == nil {
		return nil, fs.Errorf(fs.Again, "the platform %s has no desk; mkdir platforms/%[1]s makes one", c.Address.Platform)
	}
	if !d.Caps().Has(r.Op) {
		return nil, fs.Errorf(fs.NotSupported, "%s has no operation %s; it has %s", d.Name, r.Op, strings.Join(d.Caps().Ops, ", "))
	}
	l := d.adapter()
	if l == nil {
		return nil, fs.Errorf(fs.Again, "no adapter serves platforms/%s/out; start it, and try again", d.Name)
	}
	q, err := c.question(r)
	if err != nil {
		return nil, err
	}
	answer := fs.NewStream()
	if !c.rt.spawn(func() { c.operate(d, l, r, q, answer) }) {
		q.Close()
		return nil, fs.Errorf(fs.Again, "the daemon is ending")
	}
	return answer, nil
}

// operation reads what was written to a chat file.
func (c *Conversation) operation(body []byte) (r wire.OpRequest, err error) {
	if err := wire.DecodeJSON("chat", body, &r); err != nil {
		return r, fs.Errorf(fs.Invalid, "%w", err)
	}
	op, _ := wire.FindOp(r.Op)
	if r.Name == "" && r.File != "" {
		r.Name = path.Base(r.File)
	}
	if r.Key == "" && slices.Contains(slices.Concat(op.Needs, op.Takes), "key") && r.Op != "history" {
		r.Key = "chat-" + uuid.NewString()
	}
	switch err := r.Check(); {
	case err != nil:
		return r, fs.Errorf(fs.Invalid, "%w", err)
	case r.Conversation != "" && r.Conversation != c.Address.ConversationID:
		return r, fs.Errorf(fs.Invalid, "this is the conversation %q; leave it out", c.Address.ConversationID)
	case r.Body != "":
		return r, fs.Errorf(fs.Invalid, "a chat file takes no body")
	case r.Op == "upload" && r.File == "":
		return r, fs.Errorf(fs.Invalid, "upload needs file, a path below files/")
	}
	r.Conversation = c.Address.ConversationID
	return r, nil
}

// maxNameOnLine is how many characters the name of an upload keeps if it makes the
// line too long.
const maxNameOnLine = 40

// question is what an adapter is asked. Of an upload, a copy of the file is the
// body.
func (c *Conversation) question(r wire.OpRequest) (fs.Question, error) {
	if r.Op != "upload" {
		return question(r)
	}
	name := r.File
	r.File = ""
	line, err := json.Marshal(r)
	if err == nil && len(line) > summaryRoom {
		r.Title = "" // the name tells as much
		line, err = json.Marshal(r)
	}
	if err == nil && len(line) > summaryRoom {
		name := []rune(r.Name)
		r.Name = string(name[max(0, len(name)-maxNameOnLine):]) // the end has the type
		line, err = json.Marshal(r)
	}
	if err != nil {
		return fs.Question{}, err
	}
	f, err := c.stage(name)
	if err != nil {
		return fs.Question{}, fmt.Errorf("upload: %w", err)
	}
	return fs.Question{Line: line, File: f}, nil
}

// operate has an adapter do an operation, and ends answer with what came of it.
func (c *Conversation) operate(d *Desk, l *fs.Listener, r wire.OpRequest, q fs.Question, answer *fs.Stream) {
	reply, err := d.ask(c.rt.runs, l, q)
	text, err := outcome(r, reply, err)
	if err == nil && r.Op != "fetch" {
		err = c.saidByChat(r, text)
	}
	answer.Append(text)
	answer.End(err)
}

// outcome is what a chat file gives of an adapter's answer.
func outcome(r wire.OpRequest, reply fs.Reply, err error) ([]byte, error) {
	switch {
	case err == nil && reply.Verb == "error":
		return nil, fmt.Errorf("%s: %s", r.Op, wire.ParseOpError(reply.Text).Text)
	case errors.Is(err, fs.ErrUnread), err != nil && !reply.Taken:
		return nil, fmt.Errorf("%s was not done: %w", r.Op, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", unknown(r), err)
	case r.Op == "fetch" && reply.Body == nil:
		return nil, errors.New("fetch: the adapter has given no file")
	case r.Op == "fetch":
		return reply.Body, nil
	case len(reply.Content()) == 0:
		return []byte("{}\n"), nil
	}
	var line bytes.Buffer
	var a wire.OpAnswer
	if err := json.Unmarshal(reply.Content(), &a); err != nil {
		return nil, fmt.Errorf("%s was done, and the adapter's answer does not fit: %w", r.Op, err)
	}
	err = json.Compact(&line, reply.Content())
	return append(line.Bytes(), '\n'), err
}

// unknown says what can be done about an operation whose answer never came.
func unknown(r wire.OpRequest) string {
	s := "it is not known whether " + r.Op + " was done"
	switch op, _ := wire.FindOp(r.Op); op.Repeat {
	case wire.Again:
		return s + "; it can be written again"
	case wire.ReadBack:
		return s + "; history with the key " + r.Key + " may tell"
	}
	return s
}

// saidByChat records a message that an operation has posted, whose answer is
// text.
func (c *Conversation) saidByChat(r wire.OpRequest, text []byte) error {
	op, _ := wire.FindOp(r.Op)
	switch {
	case r.Op == "upload":
		r.Text = uploaded(r)
	case op.Repeat != wire.ReadBack || r.Text == "" || r.Op == "blocks" && r.TS != "":
		return nil
	}
	var a wire.OpAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return err
	}
	_, err := c.said(context.WithoutCancel(c.rt.runs), r, a.TS)
	return err
}

// uploaded is what the log says of an upload.
func uploaded(r wire.OpRequest) string { return "(uploaded: " + r.Name + ")" }

// said records a message of ours and tells of it. It gives the message's ts,
// which is made up if there is none.
func (c *Conversation) said(ctx context.Context, r wire.OpRequest, ts string) (string, error) {
	var made *wire.Record
	err := c.use(ctx, func(db *store.DB) (err error) {
		made, ts, err = db.Said(ctx, r.Key, wire.Record{TS: ts, ThreadTS: r.Thread, User: "bot", Text: r.Text, IsBot: true}, time.Now())
		return err
	})
	if made != nil {
		c.publish(wire.Event{Type: wire.Logged, Record: made})
	}
	return ts, err
}
