package fs

import (
	"context"
	"encoding/json"
)

// serviceHandle is a [Listener] as its client has it: an open file.
type serviceHandle struct {
	*Listener
	lines lines
}

var (
	_ Reader    = (*serviceHandle)(nil)
	_ Writer    = (*serviceHandle)(nil)
	_ Syncer    = (*serviceHandle)(nil)
	_ Truncater = (*serviceHandle)(nil)
)

func newServiceHandle(l *Listener) *serviceHandle {
	return &serviceHandle{l, lines{max: MaxAnswerLine, over: Errorf(TooBig,
		"an answer is a line of at most %d bytes; put a longer one into the request's body, %s/<tag>", MaxAnswerLine, BodyDir)}}
}

// Read gives a request line, or as much of it as fits; the rest is the next
// read's. It ends when the service does.
func (h *serviceHandle) Read(ctx context.Context, p []byte, _ int64) (int, error) {
	h.note(+1)
	defer h.note(-1)
	for {
		n, over := h.take(p)
		if n > 0 || over {
			return n, nil
		}
		select {
		case <-h.wake:
		case <-h.done:
		case <-ctx.Done():
			return 0, Interrupted
		}
	}
}

// note counts the reads in progress. Who reads is alive, and is asked again: also
// one that was reading ahead while its question timed out.
func (h *serviceHandle) note(n int) {
	h.service.mu.Lock()
	h.reading += n
	alive := h.reading > 0
	h.service.mu.Unlock()
	if alive {
		h.trust()
	}
}

// trust lets the listener be asked again.
func (h *serviceHandle) trust() {
	h.service.mu.Lock()
	again := h.suspect
	h.suspect = false
	h.service.mu.Unlock()
	if again {
		h.service.ready()
	}
}

// take fills p with what waits, and reports whether no more will come.
func (h *serviceHandle) take(p []byte) (n int, over bool) {
	h.service.mu.Lock()
	defer h.service.mu.Unlock()
	if len(h.rest) == 0 && len(h.queue) > 0 {
		h.rest = h.queue[0].line
		h.queue[0] = nil
		h.queue = h.queue[1:]
	}
	n = copy(p, h.rest)
	h.rest = h.rest[n:]
	return n, h.gone
}

func (h *serviceHandle) Write(_ context.Context, p []byte, _ int64) (int, error) {
	if err := h.lines.write(p, h.answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Sync takes what there is of a line for the whole of it.
func (h *serviceHandle) Sync(context.Context) error { return h.lines.flush(h.answer) }

// Truncate does nothing: a shell truncates what it writes to.
func (h *serviceHandle) Truncate(context.Context, int64) error { return nil }

// Close withdraws the listener.
func (h *serviceHandle) Close() error {
	err := h.Sync(context.Background())
	h.service.mu.Lock()
	defer h.service.mu.Unlock()
	h.withdrawLocked()
	return err
}

// answer settles the question that line answers, or leaves it open and says what
// is wrong.
func (h *serviceHandle) answer(line []byte) error {
	h.trust()
	a, err := ParseAnswerLine(line)
	if err != nil {
		return err
	}
	verb, err := h.service.verb(a.Verb)
	if err != nil {
		return err
	}
	reply, err := verb.reply(a.Rest)
	if err != nil {
		return err
	}
	h.service.mu.Lock()
	defer h.service.mu.Unlock()
	q := h.open[a.Tag]
	if q == nil {
		return Errorf(Invalid, "no request %d waits for an answer on this open file", a.Tag)
	}
	read, replaced := q.body.used()
	switch {
	case verb.Takes == TakesJSON && reply.JSON == nil && !replaced:
		return Errorf(Invalid, "%s takes JSON: on the line behind it, or in %s", verb.Name, BodyPath(a.Tag))
	case verb.Informed && !read:
		h.settleLocked(q, outcome{reply, ErrUnread})
		return Errorf(Invalid, "%s without reading %s counts as no answer", verb.Name, BodyPath(a.Tag))
	}
	h.settleLocked(q, outcome{reply: reply})
	return nil
}

// reply is the verb with what followed it.
func (v Verb) reply(rest string) (Reply, error) {
	r := Reply{Verb: v.Name}
	switch {
	case v.Takes == TakesText:
		r.Text = rest
	case rest == "":
	case v.Takes == TakesNothing:
		return r, Errorf(Invalid, "nothing follows %s", v.Name)
	case !json.Valid([]byte(rest)):
		return r, Errorf(Invalid, "what follows %s is not JSON; correct it and answer again", v.Name)
	default:
		r.JSON = json.RawMessage(rest)
	}
	return r, nil
}
