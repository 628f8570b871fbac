package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mikan/harness"
)

// Set is the servers of one office.
type Set struct {
	opt     Options
	servers []*server // by name

	life   context.Context
	cancel context.CancelFunc
	owned  sync.WaitGroup

	mu      sync.Mutex
	started bool
	closed  bool
}

// New makes a set of servers, of which none is started.
func New(servers []Config, opt Options) *Set {
	x := &Set{opt: opt.withDefaults()}
	x.life, x.cancel = context.WithCancel(context.Background())
	for _, c := range servers {
		x.servers = append(x.servers, newServer(c, x.opt))
	}
	slices.SortFunc(x.servers, func(a, b *server) int { return strings.Compare(a.Name, b.Name) })
	return x
}

// Start starts the servers that are not there and waits until they are, but no
// longer than [Options.Wait] or ctx allow.
func (x *Set) Start(ctx context.Context) {
	if !x.keep() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.opt.Wait)
	defer cancel()
	var all sync.WaitGroup
	for _, s := range x.servers {
		all.Go(func() { s.awaitShortly(ctx) })
	}
	all.Wait()
}

// keep sees to it that each server has its keeper; false if the set is closed.
func (x *Set) keep() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.started && !x.closed {
		x.started = true
		for _, s := range x.servers {
			x.owned.Go(func() { s.keep(x.life) })
		}
	}
	return !x.closed
}

// Close ends all servers and returns when their processes are gone, which takes
// a second or two for one that does not heed. It can be called twice.
func (x *Set) Close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.cancel()
	x.owned.Wait()
}

// Tools are the tools of the servers that are there, by server and name. What
// they give back and is too long goes to a file of c.
func (x *Set) Tools(c harness.Computer) []harness.Tool {
	lists, all := make([][]tool, len(x.servers)), 0
	for i, s := range x.servers {
		lists[i] = s.listed()
		if n := size(lists[i]); !s.Deferred && n <= directTools {
			all += n
		}
	}
	var tools []harness.Tool
	for i, s := range x.servers {
		deferred := s.Deferred || all > directAll || size(lists[i]) > directTools
		for _, t := range lists[i] {
			tools = append(tools, harness.Tool{
				ToolSpec: t.spec, Run: s.runner(t.name, c), Deferred: deferred,
				Namespace: harness.Namespace{Name: s.Name, Description: s.Description},
			})
		}
	}
	return tools
}

// listed are the server's tools as it listed them last.
func (s *server) listed() []tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools
}

// Status is what is known of a server.
type Status struct {
	Name  string
	State State
	Tools int      // of Connected
	Why   string   // of Failed
	Notes []string // what was left out of its tools
}

// String is the status on one line, without the name.
func (s Status) String() string {
	text := string(s.State)
	switch {
	case s.State == Connected:
		text += fmt.Sprintf(", %d tools", s.Tools)
	case s.Why != "":
		text += ": " + s.Why
	}
	if len(s.Notes) > 0 {
		text += " (" + strings.Join(s.Notes, "; ") + ")"
	}
	return text
}

// Status is what is known of each server, by name.
func (x *Set) Status() []Status {
	var list []Status
	for _, s := range x.servers {
		s.mu.Lock()
		list = append(list, Status{s.Name, s.state, len(s.tools), s.why, s.notes})
		s.mu.Unlock()
	}
	return list
}
