package runtime

import (
	"slices"
	"strings"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// telling passes a run's events on, and gathers its answer.
type telling struct {
	s       *Session
	p       store.Prompt
	answers []*fs.Stream // of the prompt, and of those that the run has taken

	messages []string        // the text of whole messages
	partial  strings.Builder // what has arrived of the one that is coming
}

// say gives text to everyone who reads the answer.
func (t *telling) say(text string) {
	for _, a := range t.answers {
		a.Append([]byte(text))
	}
}

// join makes the run's answer that of another prompt too.
func (t *telling) join(a *fs.Stream) {
	if len(t.answers) > 0 {
		a.Append(t.answers[0].Bytes())
	}
	t.answers = append(t.answers, a)
}

// take notes that the run has taken other prompts.
func (t *telling) take(prompts []store.Prompt) {
	if len(prompts) > 0 {
		t.s.c.touch() // they have left the queue
	}
	for _, p := range prompts {
		if p.ID != t.p.ID {
			a, _ := t.s.answer(p.ID)
			t.join(a)
		}
	}
}

// tell passes an event on. Text goes to the answer as it arrives; what a failed
// request had said is left standing, marked as such, since it has been read.
func (t *telling) tell(e wire.Event) {
	e.Prompt = t.p.TS()
	switch e.Type {
	case wire.Delta:
		t.part()
		t.partial.WriteString(e.Text)
		t.say(e.Text)
	case wire.AgentError:
		if t.partial.Len() > 0 && e.Retry > 0 {
			t.say("\n[broke off; trying again]\n")
			t.partial.Reset()
		}
	case wire.MessageEnd:
		if e.Message != nil && e.Message.Role == wire.Assistant {
			t.end(*e.Message)
		}
	}
	t.s.note(e)
	t.s.noteTool(e)
	t.s.publish(e)
}

// part separates a message that begins from the one before.
func (t *telling) part() {
	if t.partial.Len() == 0 && len(t.messages) > 0 {
		t.say("\n\n")
	}
}

// end notes the text of a whole message, and tells what of it had not come as
// deltas.
func (t *telling) end(m wire.Message) {
	text := m.PlainText()
	if text == "" {
		return
	}
	if rest, ok := strings.CutPrefix(text, t.partial.String()); ok && rest != "" {
		t.part()
		t.say(rest)
	}
	t.messages = append(t.messages, text)
	t.partial.Reset()
}

// text is the whole answer, with the last messages of the run.
func (t *telling) text(last []wire.Message) string {
	all := slices.Clone(t.messages)
	for _, m := range last {
		if text := m.PlainText(); m.Role == wire.Assistant && text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}

// finish gives the answer what is still missing of the last messages.
func (t *telling) finish(last []wire.Message) {
	for _, m := range last {
		if m.Role == wire.Assistant {
			t.end(m)
		}
		t.s.publish(wire.Event{Type: wire.MessageEnd, Prompt: t.p.TS(), Message: &m})
	}
	if n := len(t.messages); n > 0 && !strings.HasSuffix(t.messages[n-1], "\n") {
		t.say("\n")
	}
}

// breakOff ends the answer with err, whatever is still missing of it.
func (t *telling) breakOff(err error) {
	for _, a := range t.answers {
		a.End(err)
	}
}
