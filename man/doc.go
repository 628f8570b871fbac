// Package man makes the manual pages: mikan(1), mikan(4), mikan(5) and
// mikan-ctl(7).
//
// A page is a template, NAME.mdoc.in, in the language of mdoc(7). What the
// program itself reads from a table (the command line, the files of the tree,
// the verbs of ctl, the operations of a platform, the hooks, the events of a
// feed, the errors) the template takes from
// that same table, so that a page cannot say something else. The pages made of
// them are checked in beside the templates; a test of package main, which has
// the command line, fails if they are out of date, and "go generate ./man"
// writes them anew.
package man

//go:generate go test ../cmd/mikan -run ^TestManual_isUpToDate$ -update
