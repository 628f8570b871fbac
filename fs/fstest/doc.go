// Package fstest is one conformance suite for every way into a tree: in
// process, over 9P2000, through a mount.
//
// [NewTree] makes a sample tree that has every kind of file; a [Door] is a way
// into it. The [Cases] say what must be seen through any door. [Run] runs them as
// subtests, each on a fresh tree:
//
//	fstest.Run(t, func(t *testing.T, tree *fs.Tree) fstest.Doors {
//		return fstest.Doors{Owner: fstest.Client{Client: dial(t, tree)}}
//	})
//
// A FUSE mount is not to be used by the process that serves it: a system call on
// it can stop the runtime that must answer. Such a test serves the tree, starts
// its own binary again, and the child runs the cases with [RunCase] through
// [Mount]. All that a case does to the tree it does through the door, by the
// file drive, so that it need not be where the tree is.
package fstest
