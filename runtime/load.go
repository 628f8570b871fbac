package runtime

import (
	"context"
	"fmt"
	"time"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// load reads the session's history. Tool calls at its end that have no result,
// because the end of their run was never recorded, get one in the store. What
// is wrong further back stays as it is, since entries are never rewritten: the
// harness puts it right in what it sends.
func (s *Session) load(ctx context.Context, db *store.DB) ([]wire.Message, error) {
	msgs, err := db.Messages(ctx, s.id)
	if err != nil {
		return nil, err
	}
	missing := harness.Close(msgs, interruptedText)
	if len(missing) == 0 {
		return msgs, nil
	}
	if err := db.Append(ctx, s.id, missing, time.Now()); err != nil {
		return nil, fmt.Errorf("close the tool calls of session %s: %w", s.name, err)
	}
	return append(msgs, missing...), nil
}
