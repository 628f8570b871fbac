package harness

import (
	"context"

	"mikan/wire"
)

// Computer is where an office's tools work: a directory, files and commands.
// What it runs and holds is hostile; an implementation never follows a link out
// of what the office may see, and never waits for a file that is not a regular
// one. Names are as the agent sees them: absolute, or relative to Dir.
type Computer interface {
	// Dir is the working directory, as the agent sees it.
	Dir() string
	// Run runs one command to its end and returns how it ended. The error is
	// for a command that could not be started; whatever happens, no process of
	// the command is left running in its group when Run returns. When ctx is
	// done or the time-out has passed the whole group is killed.
	Run(ctx context.Context, c Command) (Exit, error)
	// Open opens a regular file for reading.
	Open(ctx context.Context, name string) (File, error)
	// Create starts a new content for name, whose missing parents are made. What
	// is written appears under the name only with Commit, all at once.
	Create(ctx context.Context, name string) (Staged, error)
}

// The plain types of a Computer are wire's, so that a computer need not import
// this package.
type (
	Command = wire.Command // a shell command
	Exit    = wire.Exit    // how it ended
	File    = wire.File    // an open regular file
	Staged  = wire.Staged  // a file in the making
)
