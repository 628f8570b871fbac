package anthropic

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"

	"mikan/harness"
	"mikan/wire"
)

// disowned are signatures of thinking that the server does not know as its own,
// such as those of another server with a model of the same name. The zero value
// has none.
type disowned struct {
	mu  sync.Mutex
	set map[string]bool
}

// add notes the signatures in msgs and reports whether one of them is new.
func (d *disowned) add(msgs []wire.Message) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := len(d.set)
	for _, m := range msgs {
		for _, p := range m.Content {
			if p.Type != wire.Thinking || p.ThinkingSignature == "" {
				continue
			}
			if d.set == nil {
				d.set = map[string]bool{}
			}
			d.set[p.ThinkingSignature] = true
		}
	}
	return len(d.set) > before
}

// strip returns msgs without the thinking that has such a signature.
func (d *disowned) strip(msgs []wire.Message) []wire.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.set) == 0 {
		return msgs
	}
	out := slices.Clone(msgs)
	for i := range out {
		out[i].Content = slices.DeleteFunc(slices.Clone(out[i].Content), func(p wire.Part) bool {
			return p.Type == wire.Thinking && d.set[p.ThinkingSignature]
		})
	}
	return out
}

// disowns reports whether err says that the server will not have the thinking
// that was given back to it.
func disowns(err error) bool {
	var e *harness.ModelError
	return errors.As(err, &e) && e.Status == http.StatusBadRequest &&
		(strings.Contains(e.Text, "`thinking`") || strings.Contains(e.Text, "`redacted_thinking`"))
}
