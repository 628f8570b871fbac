// Package subagents is the tool with which an agent has others work for it: one
// task, up to eight at once, or a graph of tasks of which some need the results
// of others.
//
// A subagent is a run of its own, with a history in memory, the tools of its
// [Profile] and no others, and no subagents of its own. It belongs to the run
// that asked for it: a stop ends it, what it uses up counts for both, and the
// hooks of the office are asked about its calls. Whatever happens to one, the
// others go on, and the tool answers with a [Result] for each.
package subagents
