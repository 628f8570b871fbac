package fstest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"mikan/fs"
)

// desk is the directory of the sample tree that clients serve.
type desk struct {
	hook     fs.Service
	outcomes fs.Stream

	mu     sync.Mutex
	cancel context.CancelFunc // of the questions in progress
}

// hurry is how long a question of "hurry" waits.
const hurry = 20 * time.Millisecond

func (d *desk) node() *fs.Dir {
	bodies := &fs.Bodies{}
	d.hook = fs.Service{Mode: 0o666, Bodies: bodies, Verbs: []fs.Verb{
		{Name: "allow", Informed: true}, {Name: "deny", Takes: fs.TakesText}, {Name: "replace", Takes: fs.TakesJSON},
	}}
	return &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"hook":      &d.hook,
		fs.BodyDir:  bodies,
		"call":      &fs.Service{Exclusive: true},
		"listeners": &fs.Value{Get: d.listeners},
		"outcomes":  &fs.Answer{Bind: func(context.Context, *fs.Identity) (*fs.Stream, error) { return &d.outcomes, nil }},
	}}
}

func (d *desk) listeners(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	return fmt.Appendln(nil, len(d.hook.Listeners())), time.Unix(1e9, 0), nil
}

// drive does what the verbs about the desk say; see [sample.drive].
func (d *desk) drive(verb, arg string) error {
	switch verb {
	case "question":
		d.ask(fs.Question{Line: json.RawMessage(arg)}, 0)
	case "hurry":
		d.ask(fs.Question{Line: json.RawMessage(arg)}, hurry)
	case "big":
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		d.ask(fs.Question{Line: json.RawMessage(`{"big":true}`), Body: bytes.Repeat([]byte("x"), n)}, 0)
	case "cancel":
		d.withdraw()
	default:
		return fs.Errorf(fs.Invalid, "unknown verb %q", verb)
	}
	return nil
}

// ask asks the first listener and adds a line about the outcome. The question
// lasts no longer than the listener, the time, or the next "cancel".
func (d *desk) ask(q fs.Question, limit time.Duration) {
	list := d.hook.Listeners()
	if len(list) == 0 {
		d.outcomes.Append([]byte("nobody\n"))
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.cancel = cancel
	d.mu.Unlock()
	go func() {
		defer cancel()
		if limit > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, limit)
			defer stop()
		}
		d.outcomes.Append([]byte(outcome(list[0].Ask(ctx, q)) + "\n"))
	}()
}

func outcome(r fs.Reply, err error) string {
	switch {
	case errors.Is(err, fs.ErrGone):
		return "gone"
	case errors.Is(err, fs.ErrUnread):
		return "unread"
	case err != nil:
		return fs.KindOf(err).String()
	case r.Text != "":
		return r.Verb + " " + r.Text
	}
	return fmt.Sprintf("%s %s", r.Verb, r.Content())
}

func (d *desk) withdraw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cancel != nil {
		d.cancel()
	}
}
