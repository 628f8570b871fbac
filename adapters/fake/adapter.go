package fake

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"mikan/fs"
	"mikan/fs/serve"
	"mikan/wire"
)

// Adapter carries messages between a [Bus] and a platform of mikan's tree.
type Adapter struct {
	Platform string
	Bus      *Bus
	Caps     wire.Caps // written to caps; nothing: all that the bus can do

	mu      sync.Mutex
	refused []error // why messages were not taken
}

// allCaps is what the bus can do.
var allCaps = wire.Caps{
	Ops:  []string{"post", "update", "delete", "react", "upload", "history", "users", "dm", "typing"},
	Keys: true, Direct: true, Trust: wire.Membership,
}

// retry is how long the adapter waits before it delivers again what was not
// taken for now.
const retry = 10 * time.Millisecond

// errDied ends a connection in the middle of an operation.
var errDied = errors.New("the adapter dies")

// errRemoved is what became of the desk.
var errRemoved = errors.New("the platform has been removed")

// Run works at the platform's desk until ctx is done. When it dies of a
// [Trouble] it comes back; the operation that it held has then no answer.
func (a *Adapter) Run(ctx context.Context, c *fs.Client) error {
	for {
		err := a.connect(ctx, c)
		if !errors.Is(err, errDied) {
			return err
		}
	}
}

// connect works at the desk until something ends it.
func (a *Adapter) connect(ctx context.Context, c *fs.Client) error {
	ctx, die := context.WithCancelCause(ctx)
	defer die(nil)
	caps := a.Caps
	if len(caps.Ops) == 0 {
		caps = allCaps
	}
	data, err := json.Marshal(caps)
	if err != nil {
		return err
	}
	if err := c.WriteFile(ctx, a.file("caps"), data); err != nil {
		return err
	}
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error { return a.deliver(ctx, c) })
	work.Go(func() error {
		err := serve.File(ctx, c, a.file("out"), func(ctx context.Context, r *serve.Request) serve.Answer {
			return a.operate(ctx, r, die)
		}, serve.Options{})
		if err == nil {
			err = errRemoved
		}
		return err
	})
	err = work.Wait()
	if cause := context.Cause(ctx); errors.Is(cause, errDied) {
		return cause
	}
	return err
}

func (a *Adapter) file(name string) string { return "platforms/" + a.Platform + "/" + name }

// Refused is why messages were not taken, and never will be.
func (a *Adapter) Refused() []error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]error(nil), a.refused...)
}

// deliver writes what people say to in, each message until it is taken or
// refused for good.
func (a *Adapter) deliver(ctx context.Context, c *fs.Client) error {
	for {
		m, err := a.Bus.next(ctx)
		if err != nil {
			return err
		}
		data, err := json.Marshal(m)
		if err != nil {
			return err
		}
		switch err := c.WriteFile(ctx, a.file("in"), data); fs.KindOf(err) {
		case fs.Again:
			select {
			case <-time.After(retry):
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		case fs.Invalid, fs.NameTooLong:
			a.mu.Lock()
			a.refused = append(a.refused, err)
			a.mu.Unlock()
		default:
			if err != nil {
				return err
			}
		}
		a.Bus.acknowledge()
	}
}

// operate does one operation.
func (a *Adapter) operate(ctx context.Context, r *serve.Request, die context.CancelCauseFunc) serve.Answer {
	data, err := r.Content(ctx)
	if err != nil {
		return serve.Answer{}
	}
	var op wire.OpRequest
	if err := json.Unmarshal(r.JSON, &op); err == nil && op.Op == "upload" {
		op.Body = "" // data is the file
	} else if err := json.Unmarshal(data, &op); err != nil {
		return serve.Error(wire.OpError{Text: err.Error(), Final: true})
	}
	t := a.Bus.trouble(op)
	if t == nil {
		return a.answer(op, data)
	}
	switch t.What {
	case Limit:
		return serve.Error(wire.OpError{Text: "rate limited", RetryAfter: t.After})
	case Refuse, Final:
		return serve.Error(wire.OpError{Text: t.Text, Final: t.What == Final})
	case DropAck:
		a.answer(op, data)
		die(errDied)
	case Die:
		die(errDied)
	}
	return serve.Answer{}
}

func (a *Adapter) answer(op wire.OpRequest, data []byte) serve.Answer {
	if op.Op != "upload" {
		data = nil
	}
	answer, err := a.Bus.DoWith(op, data)
	if err != nil {
		return serve.Error(err)
	}
	return serve.OK(answer)
}
