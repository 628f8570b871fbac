package mcp

import (
	"cmp"
	"time"
)

// Config is one server: a command, or a URL.
type Config struct {
	Name    string // letters, digits, _ and -
	Command string // found in PATH, unless it has a slash
	Args    []string
	Env     map[string]string // values are secrets
	URL     string            // of a server that speaks streamable HTTP
	Headers map[string]string // values are secrets
	// Deferred tools are not told to the model until tool_search finds them. Those
	// of a server that has many are deferred anyway.
	Deferred    bool
	Description string // one line, for tool_search
}

// Options are the times of a set; what is 0 has the default in brackets.
type Options struct {
	Version string        // of this program, which a server is told
	Wait    time.Duration // for servers that are not there yet, before a run goes on without [2s]
	Start   time.Duration // until a server must have answered and listed its tools [1m]
	Call    time.Duration // of one call of a tool [10m]
	Retry   time.Duration // after the first failure; doubled for each further one [1s]
	Steady  time.Duration // a server that lived so long has not failed when it ends [30s]
}

const (
	maxRetry = 5 * time.Minute
	// maxTools is how many tools a server may have.
	maxTools = 1000
	// directTools is how many bytes the tools of a server may take in each model
	// call, and directAll those of all servers. What is more is deferred.
	directTools = 16 << 10
	directAll   = 48 << 10
	// maxMessage is the longest message of a server.
	maxMessage = 16 << 20
)

func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "unknown")
	o.Wait = cmp.Or(o.Wait, 2*time.Second)
	o.Start = cmp.Or(o.Start, time.Minute)
	o.Call = cmp.Or(o.Call, 10*time.Minute)
	o.Retry = cmp.Or(o.Retry, time.Second)
	o.Steady = cmp.Or(o.Steady, 30*time.Second)
	return o
}
