package subagents

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"mikan/harness"
	"mikan/wire"
)

// memory is the history of one subagent, which ends with it.
type memory struct {
	spent func(ctx context.Context, m wire.Message) error // counts the usage of a message

	mu   sync.Mutex
	msgs []wire.Message
}

var _ harness.Store = (*memory)(nil)

// Context returns the messages so far.
func (m *memory) Context(context.Context) ([]wire.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.msgs), nil
}

// Compact puts a summary in the place of all but the last messages.
func (m *memory) Compact(ctx context.Context, c harness.Compaction) error {
	summary := wire.SummaryMessage(wire.Entry{Summary: c.Summary, Timestamp: wire.Stamp(time.Now())})
	m.mu.Lock()
	m.msgs = wire.Compacted(summary, m.msgs[len(m.msgs)-c.Keep:])
	m.mu.Unlock()
	return m.count(ctx, c.Paid)
}

// Append adds messages, and counts what they cost where it lasts.
func (m *memory) Append(ctx context.Context, msgs ...wire.Message) error {
	m.mu.Lock()
	m.msgs = append(m.msgs, msgs...)
	m.mu.Unlock()
	return m.count(ctx, msgs...)
}

// close counts what a run has left besides its messages.
func (m *memory) close(ctx context.Context, end harness.Ending) error {
	return errors.Join(m.Append(ctx, end.Final...), m.count(ctx, end.Lost...))
}

func (m *memory) count(ctx context.Context, msgs ...wire.Message) error {
	for _, msg := range msgs {
		if msg.Usage == nil || m.spent == nil {
			continue
		}
		if err := m.spent(ctx, msg); err != nil {
			return err
		}
	}
	return nil
}
