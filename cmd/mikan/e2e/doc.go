// Package e2e tests the program as a person uses it: the built binary, real
// daemons with a state directory, a workspace and a mount of their own, and
// shells, editors and copying tools that work on the tree. It has no code but
// its tests.
//
// A world is one user's machine. Its serve starts a daemon, sh gives bash a
// script, in which $M is the mount, $D the office local/demo on it and $T a
// directory for scratch, and mikan runs the command line. All that a test starts
// is killed and unmounted when it ends.
package e2e
