package wire

import (
	"io"
	"time"
)

// Command is a shell command for an office's computer.
type Command struct {
	Script  string        // for sh -c
	Timeout time.Duration // 0: the computer's default of 10 minutes
	// Stdout and Stderr get the output as it comes. Both are called from
	// goroutines of Run, each never by two at once; a slow one holds the
	// command up.
	Stdout, Stderr io.Writer
}

// Exit is how a command ended.
type Exit struct {
	Code     int    // the exit status; 128+n if killed by signal n
	Signal   string // "killed", "terminated", … ; empty if it exited by itself
	TimedOut bool   // killed because its time-out had passed
}

// File is an open regular file of a computer.
type File interface {
	io.ReadCloser
	Size() int64
}

// Staged is a file of a computer in the making.
type Staged interface {
	io.Writer
	// Commit puts the file in its place.
	Commit() error
	// Discard drops it, if it was not committed.
	Discard()
}
