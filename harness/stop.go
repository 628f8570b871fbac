package harness

import "errors"

// The causes ([context.Cause]) with which a run's context is cancelled. Any
// other cause is taken as ErrInterrupted.
var (
	ErrStopped     = errors.New("stopped")     // a person said stop
	ErrInterrupted = errors.New("interrupted") // the daemon is ending
)
