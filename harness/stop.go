package harness

import (
	"context"
	"errors"
)

// The causes ([context.Cause]) with which a run's context is cancelled, besides a
// [*BudgetError]. Any other cause is taken as ErrInterrupted.
var (
	ErrStopped     = errors.New("stopped")     // a person said stop
	ErrInterrupted = errors.New("interrupted") // the daemon is ending
)

func stopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrStopped) }

// endedBy tells the model what ended ctx.
func endedBy(ctx context.Context) string {
	var budget *BudgetError
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrStopped):
		return "stopped by the user"
	case errors.As(cause, &budget):
		return "ended at a limit of the run, " + budget.Reason
	}
	return "interrupted: the daemon ended"
}
