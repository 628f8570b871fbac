package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"mikan/wire"
)

// Do answers the prompt: model, tools, model, …, until the model calls no tool
// and no message has come in. It returns within a second after ctx is done, and
// whatever happens, each tool call in the store has its result there or in
// [Ending.Final].
func (r *Run) Do(ctx context.Context) Ending {
	l := newLoop(r)
	defer l.silence()
	ctx, cancel := r.Meter.within(ctx)
	defer cancel()
	err := l.begin(ctx)
	for more := true; more && err == nil; {
		more, err = l.turn(ctx)
	}
	l.end(ctx, err)
	return l.ending
}

// end notes how the run ended whose last turn gave err. A limit that is reached
// with the last answer complete is none that ended the run.
func (l *loop) end(ctx context.Context, err error) {
	var budget *BudgetError
	switch {
	case err == nil:
		l.ending.Outcome = wire.OK
	case stopped(ctx):
		l.ending.Outcome = wire.Stopped
	case errors.As(context.Cause(ctx), &budget), ctx.Err() == nil && errors.As(err, &budget):
		l.ending.Outcome, l.ending.Err = wire.OverBudget, budget
		l.emit(exceeded(budget))
	case ctx.Err() != nil:
		l.ending.Outcome = wire.Interrupted
	default:
		l.ending.Outcome, l.ending.Err = wire.Failed, err
	}
}

// loop is the state of one [Run.Do].
type loop struct {
	*Run
	tools   map[string]Tool
	shelf   *shelf          // of the deferred tools; nil if there is none
	specs   []ToolSpec      // what the model is told of, sorted by name
	history []wire.Message  // as the store has it
	ids     map[string]bool // of the tool calls in history
	window  int             // of the model, as far as it is known; see [loop.limit]
	shrunk  bool            // the last request held less than the history
	sent    int             // [loop.base] of the request that was answered last; 0: none was
	body    int             // what the server takes of a request, in bytes; 0: [Caps.Body]
	cuts    int             // replies in a row that were cut off in a tool call
	guard   guard
	ending  Ending

	mu   sync.Mutex // of over, and held while an event is emitted
	over bool
}

func newLoop(r *Run) *loop {
	l := &loop{Run: r, tools: map[string]Tool{}, ids: map[string]bool{}, window: cmp.Or(r.Model.Window, unknownWindow)}
	tools := deferMany(r.Tools)
	l.shelf = newShelf(tools)
	for _, t := range append(slices.Clip(tools), l.shelf.search()...) {
		l.tools[t.Name] = t
		if !t.Deferred {
			l.specs = append(l.specs, t.ToolSpec)
		}
	}
	slices.SortFunc(l.specs, func(a, b ToolSpec) int { return strings.Compare(a.Name, b.Name) })
	return l
}

// begin appends the prompt and reads the context.
func (l *loop) begin(ctx context.Context) error {
	if ctx.Err() != nil && !stopped(ctx) {
		return context.Cause(ctx)
	}
	if err := l.hookStart(ctx); err != nil {
		return err
	}
	l.fit(ctx, &l.Prompt)
	if err := l.save(ctx, l.Prompt); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return l.load(ctx)
}

// load reads the context: at the beginning, and when it was compacted.
func (l *loop) load(ctx context.Context) error {
	msgs, err := l.Store.Context(ctx)
	if err != nil {
		return fmt.Errorf("read the history: %w", err)
	}
	l.remember(msgs...)
	for _, m := range Repair(msgs) { // as the model knows them
		l.know(m)
	}
	return nil
}

// turn is one model call and its tools. It returns whether another follows.
func (l *loop) turn(ctx context.Context) (more bool, err error) {
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err := l.makeRoom(ctx); err != nil {
		return false, err
	}
	var reply wire.Message
	l.emit(wire.Event{Type: wire.TurnStart})
	defer func() { l.emit(wire.Event{Type: wire.TurnEnd, Usage: reply.Usage}) }()

	reply, err = l.ask(ctx)
	if err != nil {
		if l.ending.Final = remains(ctx, reply, err); len(l.ending.Final) == 0 {
			l.lose(reply)
		}
		return false, err
	}
	l.sent = l.base()
	unfit := l.tidy(&reply)
	calls := reply.Calls()
	if len(calls) == 0 {
		return l.finish(ctx, reply)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		l.ending.Final = remains(ctx, reply, err)
		return false, err
	}
	if err = l.commit(ctx, reply); err != nil {
		return false, err
	}
	rulings := l.guardCalls(calls, unfit)
	results := l.work(ctx, calls, unfit)
	rulings.tell(results)
	if ctx.Err() != nil {
		l.ending.Final = results
		return false, context.Cause(ctx)
	}
	if err = l.commit(ctx, results...); err != nil {
		l.ending.Final = results
		return false, err
	}
	switch {
	case rulings.stop != "":
		return false, errors.New(rulings.stop)
	case l.cuts == maxCuts:
		return false, fmt.Errorf("the model's replies were cut off %d times in a row at its limit of %d tokens; ask for smaller steps", maxCuts, l.Model.MaxTokens)
	}
	return true, l.take(ctx)
}

// maxCuts is how many replies in a row may be cut off in a tool call.
const maxCuts = 3

// finish ends the run with reply, unless a message has come in.
func (l *loop) finish(ctx context.Context, reply wire.Message) (more bool, err error) {
	if in := l.steered(ctx); len(in) > 0 {
		msgs := append([]wire.Message{reply}, in...)
		if err := l.commit(ctx, msgs...); err != nil {
			l.ending.Final = msgs
			return false, err
		}
		return true, nil
	}
	l.ending.Final = []wire.Message{reply}
	return false, nil
}

// take adds to the history the messages that have come in.
func (l *loop) take(ctx context.Context) error {
	in := l.steered(ctx)
	if len(in) == 0 {
		return nil
	}
	if err := l.commit(ctx, in...); err != nil {
		l.ending.Final = in
		return err
	}
	return nil
}

func (l *loop) steered(ctx context.Context) []wire.Message {
	if l.Steer == nil || ctx.Err() != nil || l.Meter.Check() != nil {
		return nil // they can have a run of their own
	}
	in := l.Steer(ctx)
	for i := range in {
		l.fit(ctx, &in[i])
	}
	if len(in) > 0 {
		l.guard = guard{} // they may ask for the same again
	}
	return in
}

// commit appends msgs to the store and to what the model sees.
func (l *loop) commit(ctx context.Context, msgs ...wire.Message) error {
	if err := l.save(ctx, msgs...); err != nil {
		return err
	}
	l.remember(msgs...)
	return nil
}

// save appends msgs to the store. A stop does not tear a commit in two: what
// has happened is recorded, and the run ends after it.
func (l *loop) save(ctx context.Context, msgs ...wire.Message) error {
	if err := l.Store.Append(context.WithoutCancel(ctx), msgs...); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	for i := range msgs {
		l.emit(wire.Event{Type: wire.MessageEnd, Message: &msgs[i]})
	}
	return nil
}

func (l *loop) remember(msgs ...wire.Message) {
	l.history = append(l.history, msgs...)
	for _, m := range msgs {
		l.know(m)
	}
}

// know notes the ids of m's calls, which no other call may have.
func (l *loop) know(m wire.Message) {
	for _, c := range m.Calls() {
		l.ids[c.ID] = true
	}
}

// emit passes an event on, unless the run is over.
func (l *loop) emit(e wire.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Emit != nil && !l.over {
		l.Emit(e)
	}
}

// silence keeps what was left behind from emitting.
func (l *loop) silence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
}

// remains is what a model call that failed with err leaves in the history: the
// text that had come, if any. Its tool calls were never run.
func remains(ctx context.Context, m wire.Message, err error) []wire.Message {
	text := strings.ToValidUTF8(m.PlainText(), "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	m.Content = []wire.Part{wire.TextPart(text)}
	m.StopReason = wire.StopAborted
	if ctx.Err() == nil {
		m.StopReason, m.ErrorMessage = wire.StopError, err.Error()
	}
	return []wire.Message{m}
}

// grace is how long something that was told to stop is waited for.
const grace = 500 * time.Millisecond

// lateness returns a context that is done when ctx has been done for the time
// of grace.
func lateness(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return late, func() { stop(); cancel() }
}
