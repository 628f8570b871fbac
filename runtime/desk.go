package runtime

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"mikan/fs"
	"mikan/wire"
)

// Desk is where the adapter of a chat platform works: it writes what people say
// to in, and reads from out what is to be done on the platform.
type Desk struct {
	Name   string
	Out    *fs.Service
	Bodies *fs.Bodies // of the requests of Out

	rt    *Runtime
	tools func() *Tools // read when they are first asked for

	mu       sync.Mutex
	kept     deskRecord
	unposted map[Address]int // posts that are not settled, by office
	in, out  int             // messages taken in, operations asked for
	failed   int             // posts that were given up
	unknown  int             // posts of which nobody knows
	trouble  string          // why the last of them
}

func newDesk(rt *Runtime, kept deskRecord) *Desk {
	d := &Desk{Name: kept.Name, Bodies: &fs.Bodies{}, rt: rt, kept: kept, unposted: map[Address]int{}}
	d.Out = &fs.Service{Exclusive: true, Bodies: d.Bodies, Ready: d.wake}
	d.tools = sync.OnceValue(func() *Tools { return loadTools(rt.deskTools(d.Name), d) })
	return d
}

// deskTools is the file that keeps the tools of a platform.
func (rt *Runtime) deskTools(name string) string {
	return filepath.Join(rt.ws.StateDir, "platform-tools", name+".json")
}

// Tools are the tools that the platform gives the agents of its offices.
func (d *Desk) Tools() *Tools { return d.tools() }

// adapter is who serves out; nil if nobody does.
func (d *Desk) adapter() *fs.Listener {
	if list := d.Out.Listeners(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// wake lets the offices that have something to post try it.
func (d *Desk) wake() {
	d.mu.Lock()
	list := slices.Collect(maps.Keys(d.unposted))
	d.mu.Unlock()
	for _, a := range list {
		d.rt.conversation(a).post()
	}
}

// note says how many posts of an office are not settled.
func (d *Desk) note(a Address, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n == 0 {
		delete(d.unposted, a)
	} else {
		d.unposted[a] = n
	}
}

func (d *Desk) count(f func(*Desk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

// summaryRoom is what the line of a request with a body has for the operation.
const summaryRoom = 900

// question is an operation as an adapter is asked for it: as a line, or as a body
// with a line that says as much as fits.
func question(r wire.OpRequest) (fs.Question, error) {
	whole, err := json.Marshal(r)
	if err != nil {
		return fs.Question{}, err
	}
	summary, err := json.Marshal(wire.OpRequest{Op: r.Op, Conversation: r.Conversation, Thread: r.Thread, Key: r.Key})
	if err == nil && len(summary) > summaryRoom {
		summary, err = json.Marshal(wire.OpRequest{Op: r.Op})
	}
	return fs.NewQuestion(whole, summary), err
}

// ask puts an operation to the adapter.
func (d *Desk) ask(ctx context.Context, l *fs.Listener, q fs.Question) (fs.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, d.rt.outbox.Answer)
	defer cancel()
	d.count(func(d *Desk) { d.out++ })
	return l.Ask(ctx, q)
}

// do has the adapter do an operation.
func (d *Desk) do(ctx context.Context, l *fs.Listener, r wire.OpRequest) (fs.Reply, error) {
	q, err := question(r)
	if err != nil {
		return fs.Reply{}, err
	}
	return d.ask(ctx, l, q)
}

// Status is the desk's state, as key value lines.
func (d *Desk) Status() []byte {
	connected := "no"
	if d.adapter() != nil {
		connected = "yes"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	pending := 0
	for _, n := range d.unposted {
		pending += n
	}
	return lines(
		"connected", connected,
		"pending", strconv.Itoa(pending),
		"in", strconv.Itoa(d.in),
		"out", strconv.Itoa(d.out),
		"failed", strconv.Itoa(d.failed),
		"unknown", strconv.Itoa(d.unknown),
		"error", d.trouble,
	)
}

// Caps are what the adapter can do.
func (d *Desk) Caps() wire.Caps {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.kept.Caps
}

// CapsText is the file caps and when it was written.
func (d *Desk) CapsText() ([]byte, time.Time, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	data, err := json.Marshal(d.kept.Caps)
	return append(data, '\n'), d.kept.CapsAt, err
}

// SetCaps judges what an adapter says it can do, and keeps it over restarts.
func (d *Desk) SetCaps(ctx context.Context, data []byte) error {
	caps, err := wire.ParseCaps(data)
	if err != nil {
		return fs.Errorf(fs.Invalid, "%w", err)
	}
	return d.rt.desks.change(ctx, func() error {
		d.mu.Lock()
		old := d.kept
		d.kept.Caps, d.kept.CapsAt = caps, time.Now().UTC().Truncate(time.Millisecond)
		d.mu.Unlock()
		err := d.rt.desks.save()
		if err != nil {
			d.count(func(d *Desk) { d.kept = old })
			return err
		}
		for _, c := range d.rt.live.all() {
			if c.Address.Platform == d.Name {
				c.renewServers() // what is trusted may have changed
			}
		}
		return nil
	})
}
