package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// The time-outs of a question.
const (
	hookTimeout    = 5 * time.Second
	maxHookTimeout = 10 * time.Minute
)

// errNoVerdict is a listener's failure to say anything that counts.
var errNoVerdict = errors.New("no answer that counts")

// Hooks are the questions of an office and who answers them.
type Hooks struct {
	c        *Conversation
	Bodies   *fs.Bodies
	Services map[string]*fs.Service
	editing  chan struct{} // held while the policy is changed

	mu     sync.Mutex
	failed map[string]int // answers that did not come, by hook
}

func newHooks(c *Conversation) *Hooks {
	h := &Hooks{
		c: c, Bodies: &fs.Bodies{}, Services: map[string]*fs.Service{}, editing: make(chan struct{}, 1),
		failed: map[string]int{},
	}
	for _, k := range wire.Hooks {
		h.Services[k.Name] = &fs.Service{Of: c, Bodies: h.Bodies, Verbs: []fs.Verb{
			{Name: "allow", Informed: true},
			{Name: "deny", Takes: fs.TakesText},
			{Name: "replace", Takes: fs.TakesJSON}, // whether it is informed, put sees
		}}
	}
	return h
}

// ask puts an event to every listener of a hook, each seeing what those before
// have made of it, until one denies. The error is the reason of a denial, or
// ctx's: a question that was withdrawn has not been answered.
func (h *Hooks) ask(ctx context.Context, s *Session, hook string, e *wire.HookEvent) error {
	all, err := h.load()
	if err != nil {
		return fmt.Errorf("the policy of the hooks cannot be read: %w", err) // closed, not open
	}
	p := all.of(hook)
	if len(p.Only) > 0 && e.ToolName != "" && !slices.Contains(p.Only, e.ToolName) {
		return nil
	}
	service := h.Services[hook]
	if p.Require && service.Suspects() > 0 {
		return fmt.Errorf("the hook %s must answer, and a listener has not answered lately", hook)
	}
	listeners := service.Listeners()
	end := time.Now().Add(p.timeout())
	for i, l := range listeners {
		share := time.Until(end) / time.Duration(len(listeners)-i) // a mute one leaves time for the rest
		denied, err := h.put(ctx, s, hook, l, e, share)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case denied != nil:
			return denied
		case err == nil:
			continue
		case !silence(err):
			return fmt.Errorf("the hook %s cannot be asked: %w", hook, err)
		}
		h.fail(s, hook, l, err)
		if p.Require {
			return fmt.Errorf("the hook %s must answer, and %w", hook, err)
		}
	}
	if p.Require && len(listeners) == 0 {
		return fmt.Errorf("the hook %s must answer, and nobody listens", hook)
	}
	return nil
}

// silence reports whether err is the listener's failure to say anything that
// counts, about which the policy has the say. Any other is ours.
func silence(err error) bool {
	return errors.Is(err, fs.ErrGone) || errors.Is(err, fs.ErrUnread) || errors.Is(err, errNoVerdict) ||
		errors.Is(err, fs.Timeout) || errors.Is(err, fs.Again)
}

// lineRoom is what a request line has for JSON besides the tag and the name of
// the body.
const lineRoom = fs.MaxRequestLine - 64

// put asks one listener. denied is its reason to refuse, err why it has said
// nothing that counts.
func (h *Hooks) put(ctx context.Context, s *Session, hook string, l *fs.Listener, e *wire.HookEvent, patience time.Duration) (denied, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	whole, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	summary, told, err := e.Summary(lineRoom)
	if err != nil {
		return nil, err
	}
	reply, err := h.c.asking.ask(ctx, s, l, fs.NewQuestion(whole, summary))
	switch {
	case err != nil:
		return nil, err
	case reply.Verb == "deny" && reply.Text == "":
		return errors.New("a hook gave no reason"), nil
	case reply.Verb == "deny":
		return errors.New(reply.Text), nil
	case reply.Verb == "replace" && !reply.BodyRead && told.Prompt == nil:
		// Only a prompt that stood in the line can be replaced by who read no more.
		return nil, fmt.Errorf("%w: a replacement without reading the request's body", errNoVerdict)
	case reply.Verb == "replace":
		return nil, replace(hook, e, reply.Content())
	}
	return nil, nil
}

// replace puts the fields of a replacement into e. One that has none of the
// fields that the hook takes is no answer.
func replace(hook string, e *wire.HookEvent, data json.RawMessage) error {
	var next wire.HookEvent // not *e: what is decoded there would land in the history
	if err := json.Unmarshal(data, &next); err != nil {
		return fmt.Errorf("%w: a replacement that does not fit: %w", errNoVerdict, err)
	}
	changed := false
	switch hook {
	case wire.HookStart:
		changed = take(&e.Prompt, next.Prompt, next.Prompt != nil)
		changed = take(&e.SystemPrompt, next.SystemPrompt, next.SystemPrompt != nil) || changed
	case wire.HookCall:
		changed = take(&e.Args, next.Args, len(next.Args) > 0 && next.Args[0] == '{')
	case wire.HookResult:
		changed = take(&e.Content, next.Content, next.Content != nil)
		changed = take(&e.Details, next.Details, next.Details != nil) || changed
		changed = take(&e.IsError, next.IsError, next.IsError != nil) || changed
	}
	if !changed {
		return fmt.Errorf("%w: a replacement without any of the hook's fields", errNoVerdict)
	}
	return nil
}

// take sets *to, if ok, and says so.
func take[T any](to *T, value T, ok bool) bool {
	if ok {
		*to = value
	}
	return ok
}

// fail records that a listener has not answered.
func (h *Hooks) fail(s *Session, hook string, l *fs.Listener, err error) {
	h.mu.Lock()
	h.failed[hook]++
	h.mu.Unlock()
	h.c.rt.log.Warn("a hook's listener has not answered", "office", h.c.Address.String(), "session", s.name,
		"hook", hook, "listener", l.Number(), "user", l.Identity().Name, "err", err)
}

// origin says whose prompt a hook is about.
func (h *Hooks) origin(s *Session, p store.Prompt) wire.Origin {
	if p.Autonomous() {
		return wire.Origin{Kind: p.Origin, Platform: h.c.Address.Platform, Session: s.name}
	}
	o := wire.Origin{Kind: "interactive", Platform: h.c.Address.Platform, Session: s.name, MessageTS: p.TS(), UserID: p.Actor, UserName: nameOf(p)}
	if p.Source != "" {
		o.MessageTS = p.Source
	}
	return o
}

// start lets the hook before_agent_start see a prompt and the system prompt.
func (h *Hooks) start(ctx context.Context, s *Session, p store.Prompt, st *harness.Start) error {
	e := wire.HookEvent{Prompt: &st.Prompt, SystemPrompt: &st.System, Origin: h.origin(s, p)}
	if err := h.ask(ctx, s, wire.HookStart, &e); err != nil {
		return err
	}
	st.Prompt, st.System = *e.Prompt, *e.SystemPrompt
	return nil
}

// forRun are the hooks of one run.
func (h *Hooks) forRun(s *Session, p store.Prompt) harness.Hooks {
	origin := h.origin(s, p)
	result := h.Services[wire.HookResult]
	return harness.Hooks{
		Start: func(ctx context.Context, st *harness.Start) error { return h.start(ctx, s, p, st) },
		Call: func(ctx context.Context, call *wire.Part) error {
			e := wire.HookEvent{ToolCallID: call.ID, ToolName: call.Name, Args: call.Arguments, Origin: origin}
			err := h.ask(ctx, s, wire.HookCall, &e)
			call.Arguments = e.Args
			return err
		},
		Result: func(ctx context.Context, call wire.Part, m *wire.Message) error {
			e := wire.HookEvent{
				ToolCallID: call.ID, ToolName: call.Name, Args: call.Arguments,
				Content: m.Content, Details: m.Details, IsError: &m.IsError, Origin: origin,
			}
			if err := h.ask(ctx, s, wire.HookResult, &e); err != nil {
				return err
			}
			m.Content, m.Details, m.IsError = e.Content, e.Details, *e.IsError
			return nil
		},
		Holds: func() bool {
			p, err := h.load()
			return err != nil || p.Result.Require || len(result.Listeners()) > 0 || result.Suspects() > 0
		},
	}
}
