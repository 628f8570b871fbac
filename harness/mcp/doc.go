// Package mcp is a client of MCP servers: programs and web services that give an
// agent further tools.
//
// A [Set] is the servers of one office, which all its sessions share. Nothing
// starts before [Set.Start]; then each server is started by a goroutine of its
// own, and one that is dead, slow or silent keeps nobody waiting for longer than
// [Options.Wait]: a run goes on with the tools of those that are there. A server
// that has ended is started again when it is next wanted, after a time that grows
// with each failure. [Set.Close] returns when every process of the set is gone, but
// for those that have left their group (setsid), which nobody finds again.
//
// The servers are the operator's choice, but what they send is hostile: every
// size has a bound, a schema is written anew with what all providers take, names
// are made fit, and an error never holds the value of a header or of an
// environment variable.
//
// A stdio server runs on the host as the daemon's user, outside of the agent's
// sandbox, in a process group of its own that is killed whole. It starts in HOME,
// because the agent can write to its office and would otherwise choose what the
// program finds there. Its environment is PATH, HOME, LANG and what the settings
// name.
package mcp
