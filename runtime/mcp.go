package runtime

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"mikan/harness"
	"mikan/harness/mcp"
	"mikan/wire"
)

// servers are the MCP servers of an office: one set, which all its sessions
// share. It is there while a run uses it or a session's runner is kept warm.
type servers struct {
	rt *Runtime

	mu  sync.Mutex
	set *lentSet // in force; nil: none
}

// lentSet is a set and how many runs use it.
type lentSet struct {
	*mcp.Set
	of   []mcp.Config
	runs int
	over bool // the last run that leaves closes it
}

// enter returns the set of servers for a run, nil if there is none, and what the
// run leaves it with. A set of other settings is closed, at the end of the last
// run that uses it.
func (x *servers) enter(of []mcp.Config) (set *mcp.Set, leave func()) {
	x.mu.Lock()
	ended := x.drop(of)
	l := x.set
	if l == nil && len(of) > 0 {
		l = &lentSet{Set: mcp.New(of, x.rt.cfg.MCP), of: of}
		x.set = l
	}
	if l != nil {
		l.runs++
	}
	x.mu.Unlock()
	x.rt.end(ended)
	if l == nil {
		return nil, func() {}
	}
	return l.Set, func() { x.leave(l) }
}

// leave ends a run's use of a set.
func (x *servers) leave(l *lentSet) {
	x.mu.Lock()
	l.runs--
	end := l.over && l.runs == 0
	x.mu.Unlock()
	if end {
		x.rt.end(l.Set)
	}
}

// drop takes the set out of force unless it is made of these servers. x.mu is
// held; what it returns, if not nil, is to be closed.
func (x *servers) drop(of []mcp.Config) (ended *mcp.Set) {
	l := x.set
	if l == nil || reflect.DeepEqual(l.of, of) {
		return nil
	}
	x.set, l.over = nil, true
	if l.runs > 0 {
		return nil
	}
	return l.Set
}

// keep gives up the set unless it is made of these servers.
func (x *servers) keep(of []mcp.Config) {
	x.mu.Lock()
	ended := x.drop(of)
	x.mu.Unlock()
	x.rt.end(ended)
}

// close gives up the set, whatever it is made of.
func (x *servers) close() { x.keep(nil) }

// end closes a set of servers, if there is one, and does not wait unless the
// daemon ends.
func (rt *Runtime) end(set *mcp.Set) {
	if set != nil && !rt.spawn(set.Close) {
		set.Close()
	}
}

// endServers closes the servers of all offices.
func (rt *Runtime) endServers() {
	var all sync.WaitGroup
	for _, c := range rt.live.all() {
		all.Go(c.servers.close)
	}
	all.Wait()
}

// trust says whose messages come in.
func (c *Conversation) trust() wire.Trust {
	if d := c.desk(); d != nil {
		return d.Caps().Trust
	}
	return wire.Membership
}

// mcpConfigs are the servers that the office's runs may use: none where anyone
// can make it run, for the servers act with the operator's rights.
func (c *Conversation) mcpConfigs(settings map[string]MCPServer) (list []mcp.Config) {
	if c.trust() == wire.OpenTrigger {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if m := settings[name]; !m.Disabled {
			list = append(list, mcp.Config{
				Name: name, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers,
				Deferred: m.Exposure != "", Description: m.Description,
			})
		}
	}
	return list
}

// renewServers gives up servers that the settings or the platform's trust no
// longer allow.
func (c *Conversation) renewServers() {
	if settings, err := c.effective(); err == nil { // else the next run says what is wrong
		c.servers.keep(c.mcpConfigs(settings.MCPServers))
	}
}

// useServers lets the runner's next run use the office's servers, and waits a
// little for those that are not there yet.
func (s *Session) useServers(ctx context.Context, r *runner) (leave func()) {
	r.servers, leave = s.c.servers.enter(s.c.mcpConfigs(r.mcpServers))
	if r.servers == nil {
		return leave
	}
	r.servers.Start(ctx)
	for _, server := range r.servers.Status() {
		if server.State != mcp.Connected || len(server.Notes) > 0 {
			s.c.rt.log.Warn("a run goes on without an MCP server, or a part of it", "office", s.c.Address.String(), "session", s.name, "server", server.Name, "state", server.String())
		}
	}
	return leave
}

// serverTools are the tools of the servers that are there.
func (r *runner) serverTools() []harness.Tool {
	if r.servers == nil {
		return nil
	}
	return r.servers.Tools(r.computer)
}

// serverLines are the MCP servers of the office as lines of its status.
func (c *Conversation) serverLines() (text []byte) {
	settings, err := c.effective()
	if err != nil {
		return nil
	}
	known := map[string]string{}
	c.servers.mu.Lock()
	l := c.servers.set
	c.servers.mu.Unlock()
	if l != nil {
		for _, s := range l.Status() {
			known[s.Name] = s.String()
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings.MCPServers)) {
		state := known[name]
		switch m := settings.MCPServers[name]; {
		case m.Disabled:
			state = "disabled"
		case c.trust() == wire.OpenTrigger:
			state = "refused: anyone can make this office run (trust open-trigger)"
		case state == "":
			state = string(mcp.Idle)
		}
		if settings.MCPServers[name].Exposure == "codemode" {
			state += " (exposure codemode is not there yet; its tools are deferred)"
		}
		text = append(text, lines("mcp", name+" "+state)...)
	}
	return text
}
