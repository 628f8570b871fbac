package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// chatTools are the tools by which the run of p does something in its chat, as
// far as the platform can.
func (s *Session) chatTools(r *runner, p store.Prompt) []harness.Tool {
	var list []harness.Tool
	if s.c.can("upload") {
		list = append(list, attachTool(s, r.computer, p))
	}
	if s.c.can("react") {
		list = append(list, reactTool(s, p))
	}
	return list
}

// can reports whether the office's platform has an operation, as far as its
// adapter has said.
func (c *Conversation) can(op string) bool {
	if c.Address.Platform == Local {
		return slices.Contains(localOps, op)
	}
	d := c.desk()
	return d != nil && d.Caps().Has(op)
}

// perform has the platform do an operation for a run of s, and waits for what
// comes of it. When ctx is done it goes on without being waited for, and is
// recorded all the same.
func (s *Session) perform(ctx context.Context, r wire.OpRequest) error {
	r.Conversation = s.c.Address.ConversationID
	if err := r.Check(); err != nil {
		return err
	}
	if d := s.c.desk(); d != nil {
		if l := d.adapter(); l != nil {
			defer s.c.asking.note(s, l)() // he must not wait for the run
		}
	}
	answer, err := s.c.start(ctx, r)
	if err != nil {
		return err
	}
	select {
	case <-answer.Done():
		return shortened(answer.Err())
	case <-ctx.Done():
		return fmt.Errorf("%w; %s was asked for and may be done all the same", context.Cause(ctx), r.Op)
	}
}

// maxComplaint is how much the model is told of an adapter's error, in bytes.
const maxComplaint = 2 << 10

// shortened is err with a text that is not too long.
func shortened(err error) error {
	if err == nil || len(err.Error()) <= maxComplaint {
		return err
	}
	return errors.New(strings.ToValidUTF8(err.Error()[:maxComplaint], "") + "…")
}

const reactSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"emoji":{"type":"string","description":"The emoji, by its name on the platform, such as eyes"}},` +
	`"required":["label","emoji"],"additionalProperties":false}`

func reactTool(s *Session, p store.Prompt) harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{
			Name:        "react",
			Description: "React with an emoji to the message that is being answered.",
			Schema:      json.RawMessage(reactSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			var a struct {
				Emoji string `json:"emoji"`
			}
			if err := json.Unmarshal(args, &a); err != nil {
				return harness.Result{}, fmt.Errorf("bad arguments: %w", err)
			}
			return react(ctx, s, p, a.Emoji)
		},
	}
}

// maxEmoji is the longest name of an emoji, in bytes.
const maxEmoji = 64

// react reacts to the message that has become the prompt p.
func react(ctx context.Context, s *Session, p store.Prompt, emoji string) (harness.Result, error) {
	emoji = strings.Trim(strings.TrimSpace(emoji), ":")
	switch {
	case p.Source == "":
		return harness.Result{}, errors.New("this prompt is no message on the platform, so there is nothing to react to")
	case emoji == "" || len(emoji) > maxEmoji || !utf8.ValidString(emoji) || strings.ContainsFunc(emoji, noEmoji):
		return harness.Result{}, fmt.Errorf("bad arguments: emoji: want one, by its name on the platform, such as eyes, of at most %d bytes", maxEmoji)
	}
	if err := s.perform(ctx, wire.OpRequest{Op: "react", TS: p.Source, Emoji: emoji}); err != nil {
		return harness.Result{}, err
	}
	return textResult("Reacted with " + emoji + "."), nil
}

// noEmoji reports a character that no emoji and no name of one has.
func noEmoji(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) || r == ':' || r == '/' }

func textResult(s string) harness.Result {
	return harness.Result{Content: []wire.Part{wire.TextPart(s)}}
}
