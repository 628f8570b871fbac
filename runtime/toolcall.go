package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// addedTools are the tools that clients have added, for the run of p: the
// office's, then the platform's. One whose name is taken is left out.
func (s *Session) addedTools(r *runner, p store.Prompt, taken []harness.Tool) []harness.Tool {
	names := map[string]bool{}
	for _, t := range taken {
		names[t.Name] = true
	}
	sets := []*Tools{s.c.Tools()}
	if d := s.c.desk(); d != nil {
		sets = append(sets, d.Tools())
	}
	var list []harness.Tool
	for _, set := range sets {
		tools, err := set.offered()
		if err != nil {
			s.c.rt.log.Error("tools are left out", "office", s.c.Address.String(), "err", err)
		}
		for _, t := range tools {
			if !names[t.Name] {
				names[t.Name] = true
				list = append(list, t.bind(s, r, p))
			}
		}
	}
	return list
}

// toolCalls are the calls of one tool by one run.
type toolCalls struct {
	tool     *AddedTool
	s        *Session
	computer harness.Computer
	patience time.Duration
	request  wire.ToolRequest // without call and args
}

// bind makes of t a tool for one run. What is asked names the run, and what is
// answered can only reach the call that asked.
func (t *AddedTool) bind(s *Session, r *runner, p store.Prompt) harness.Tool {
	schema := t.schema()
	patience, err := schema.Patience()
	if err != nil {
		patience = wire.ToolTimeout
	}
	c := toolCalls{
		tool: t, s: s, computer: r.computer, patience: patience,
		request: wire.ToolRequest{
			Conversation: s.c.Address.ConversationID, Thread: p.Reply, Origin: s.c.hooks().origin(s, p),
		},
	}
	return harness.Tool{
		ToolSpec:  harness.ToolSpec{Name: t.Name, Description: schema.Description, Schema: schema.Parameters},
		Namespace: harness.Namespace{Name: "added", Description: "tools that programs of this office's people serve"},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			return c.call(ctx, args)
		},
	}
}

// call has whoever serves the tool do it.
func (c toolCalls) call(ctx context.Context, args json.RawMessage) (harness.Result, error) {
	listeners := c.tool.Call.Listeners()
	if len(listeners) == 0 {
		return harness.Result{}, fmt.Errorf("nobody serves the tool %s now, so the call was not made", c.tool.Name)
	}
	q, err := c.question(harness.CallID(ctx), args)
	if err != nil {
		return harness.Result{}, err
	}
	asked, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	reply, err := c.s.c.asking.ask(asked, c.s, listeners[0], q)
	switch {
	case err != nil && ctx.Err() != nil:
		return harness.Result{}, c.unanswered(reply, fmt.Errorf("the call of %s was withdrawn: %w", c.tool.Name, context.Cause(ctx)))
	case err != nil:
		return harness.Result{}, c.unanswered(reply, c.silence(err))
	case reply.Verb == "error":
		return harness.Result{}, c.failure(ctx, reply.Text)
	}
	a, err := wire.ParseToolAnswer(reply.Content())
	if err != nil {
		return harness.Result{}, fmt.Errorf("%s was done, but what it gave cannot be read: %w", c.tool.Name, err)
	}
	return harness.Result{Content: c.fit(ctx, a.Content), Details: a.Details}, nil
}

// fit bounds what the tool has given.
func (c toolCalls) fit(ctx context.Context, parts []wire.Part) []wire.Part {
	return harness.Foreign(ctx, c.computer, "tool", parts)
}

// failure is the error that a tool has given as text.
func (c toolCalls) failure(ctx context.Context, text string) error {
	if parts := c.fit(ctx, []wire.Part{wire.TextPart(text)}); len(parts) > 0 {
		return errors.New(parts[0].Text)
	}
	return fmt.Errorf("%s failed and has not said why", c.tool.Name)
}

// question is what is read from the tool's file call.
func (c toolCalls) question(call string, args json.RawMessage) (fs.Question, error) {
	r := c.request
	r.Call, r.Args = call, args
	whole, err := json.Marshal(r)
	if err != nil {
		return fs.Question{}, err
	}
	summary, err := r.Summary(lineRoom)
	return fs.NewQuestion(whole, summary), err
}

// silence says what went wrong instead of an answer.
func (c toolCalls) silence(err error) error {
	switch name := c.tool.Name; {
	case errors.Is(err, fs.ErrGone):
		return fmt.Errorf("who served the tool %s has left without an answer", name)
	case errors.Is(err, fs.ErrUnread):
		return fmt.Errorf("who serves the tool %s has answered without reading the arguments, so the call was not made", name)
	case errors.Is(err, fs.Timeout):
		return fmt.Errorf("the tool %s has not answered within %v", name, c.patience)
	case errors.Is(err, fs.Again):
		return fmt.Errorf("the tool %s has too many calls before it; call it later", name)
	}
	return fmt.Errorf("the tool %s cannot be called: %w", c.tool.Name, err)
}

// unanswered adds to why what is known of a call without an answer.
func (c toolCalls) unanswered(reply fs.Reply, why error) error {
	switch {
	case reply.Verb != "": // an answer that does not count, and has said so
		return why
	case reply.Taken:
		return fmt.Errorf("%w; it is not known what the call did", why)
	}
	return fmt.Errorf("%w; the call was not made", why)
}
