// Package wire is what crosses a file of the tree: the JSON formats of
// transcripts, logs and feeds, and the tables of ctl verbs, event types and
// settings. A parser, its help, its manual page and its completion are all read
// from the same table.
//
// Wire imports nothing of mikan, so that every other part may import it.
package wire
