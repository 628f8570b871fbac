package fs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
)

var (
	// ErrGone is why a question has no answer: the file was closed.
	ErrGone = errors.New("the listener has closed the file without an answer")
	// ErrUnread is why an answer does not count: see [Verb].
	ErrUnread = errors.New("the listener has answered without reading the request's body")
)

// Question is what a listener is asked.
type Question struct {
	// Line is JSON that fits into a request line; if there is a Body, an object
	// without a member "body".
	Line json.RawMessage
	// Body is what the line is too short for, at most [MaxRequestBody]; nil: there
	// is none. It is not modified, also later.
	Body []byte
	// File, instead of Body, is open for reading, does not change any more, and is
	// closed when the question is settled, also by an error.
	File *os.File
}

// Close lets go of a question that nobody was asked.
func (q Question) Close() error {
	if q.File == nil {
		return nil
	}
	return q.File.Close()
}

// NewQuestion asks whole: as the line itself if it fits there, else as the body,
// and then summary is the line.
func NewQuestion(whole, summary json.RawMessage) Question {
	const room = MaxRequestLine - len("18446744073709551615 \n")
	if len(whole) <= room {
		return Question{Line: whole}
	}
	return Question{Line: summary, Body: whole}
}

// Reply is an answer, one of the service's verbs.
type Reply struct {
	Verb string
	Text string          // what followed a verb that takes text
	JSON json.RawMessage // what followed one that takes JSON
	// Body is what the listener has put in the place of the request's body; nil:
	// nothing.
	Body []byte
	// BodyRead says that the listener has read from the request's body, or that
	// there was none.
	BodyRead bool
	// Taken says that the listener has begun to read the request's line. If it has
	// not, it has not done what was asked, whatever the error is.
	Taken bool
}

// Content is the JSON of the answer, wherever it stands.
func (r Reply) Content() json.RawMessage {
	if r.JSON == nil {
		return r.Body
	}
	return r.JSON
}

// Listener is a client that has a [Service] open.
type Listener struct {
	service *Service
	who     *Identity
	number  uint64
	done    chan struct{} // closed when the file is
	wake    chan struct{} // there may be something to read

	// Guarded by the service's lock.
	gone    bool
	suspect bool                 // see [Service.Listeners]
	reading int                  // reads that wait
	keys    int                  // of the service's, that are this one's
	queue   []*question          // to be read, the oldest first
	rest    []byte               // of a line that did not fit the last read
	open    map[uint64]*question // not yet settled
}

// question is one on its way. It is settled once, by whoever takes it out of
// open.
type question struct {
	tag     uint64
	line    []byte
	body    *body
	settled chan outcome // holds one
}

type outcome struct {
	reply Reply
	err   error
}

func newListener(s *Service, who *Identity, number uint64) *Listener {
	return &Listener{
		service: s, who: who, number: number,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		open: map[uint64]*question{},
	}
}

// Identity is who opened the file.
func (l *Listener) Identity() *Identity { return l.who }

// Number is the listener's place in the order of all that opened the file.
func (l *Listener) Number() uint64 { return l.number }

// Done is closed when the listener has gone.
func (l *Listener) Done() <-chan struct{} { return l.done }

// Ask puts a question and waits for the answer. Without one, the error is
//
//   - [ErrGone] if the listener has closed the file,
//   - [ErrUnread], beside the reply, if that does not count,
//   - Timeout if it has not answered in time, by ctx or by the service's Timeout;
//     then it is not among [Service.Listeners] until it reads again, unless a
//     read of it waits already,
//   - Interrupted if ctx was cancelled,
//   - Again if too many questions wait for this listener,
//   - Invalid or TooBig if the question is not one.
//
// An answer that comes later is refused.
func (l *Listener) Ask(ctx context.Context, q Question) (Reply, error) {
	defer q.Close() // a reader that is late finds it closed, as the body is gone
	if t := l.service.Timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	if ctx.Err() != nil {
		return Reply{}, noAnswer(ctx)
	}
	asked, err := l.put(q)
	if err != nil {
		return Reply{}, err
	}
	select {
	case o := <-asked.settled:
		return o.reply, o.err
	case <-ctx.Done():
	}
	l.giveUp(asked, noAnswer(ctx))
	o := <-asked.settled
	return o.reply, o.err
}

// noAnswer says that ctx has ended the wait.
func noAnswer(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Errorf(Timeout, "the listener has not answered in time")
	}
	return Errorf(Interrupted, "the question was withdrawn: %w", context.Cause(ctx))
}

// put makes q something to read.
func (l *Listener) put(q Question) (*question, error) {
	var line bytes.Buffer
	if err := json.Compact(&line, q.Line); err != nil {
		return nil, Errorf(Invalid, "the request is not JSON: %w", err)
	}
	body, hasBody, err := q.content()
	if err != nil {
		return nil, err
	}
	s := l.service
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case l.gone:
		return nil, ErrGone
	case len(l.open) >= maxQuestions:
		return nil, Errorf(Again, "%d questions wait for this listener; ask later", maxQuestions)
	case hasBody && s.Bodies == nil:
		return nil, Errorf(Invalid, "this service has no place for a body")
	}
	b, err := s.bodies().add(l.who, body)
	if err != nil {
		return nil, err
	}
	request := RequestLine{b.tag, line.Bytes()}
	if hasBody {
		request, err = request.withBody()
	}
	asked := &question{tag: b.tag, line: request.Append(nil), body: b, settled: make(chan outcome, 1)}
	if n := len(asked.line); err == nil && n > MaxRequestLine {
		err = Errorf(TooBig, "a request line of %d bytes; more than %d belong into the body", n, MaxRequestLine)
	}
	if err != nil {
		b.settle()
		return nil, err
	}
	l.open[asked.tag] = asked
	l.queue = append(l.queue, asked)
	l.notify()
	return asked, nil
}

func (l *Listener) notify() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// giveUp settles a question that has waited long enough, if nothing else has.
func (l *Listener) giveUp(q *question, why error) {
	l.service.mu.Lock()
	defer l.service.mu.Unlock()
	if l.open[q.tag] == q {
		l.settleLocked(q, outcome{err: why})
		l.suspect = l.suspect || l.reading == 0 && errors.Is(why, Timeout)
	}
}

// settleLocked ends a question of open; the service's lock is held.
func (l *Listener) settleLocked(q *question, o outcome) {
	delete(l.open, q.tag)
	o.reply.Taken = !slices.Contains(l.queue, q)
	l.queue = slices.DeleteFunc(l.queue, func(x *question) bool { return x == q })
	o.reply.Body, o.reply.BodyRead = q.body.settle()
	q.settled <- o
}

// withdrawLocked ends the listener; the service's lock is held.
func (l *Listener) withdrawLocked() {
	if l.gone {
		return
	}
	l.gone = true
	l.service.removeLocked(l)
	for _, q := range l.open {
		l.settleLocked(q, outcome{err: ErrGone})
	}
	close(l.done)
}

// Is reports whether who is the listener's client: the same connection or
// process, or one that the process has started.
func (l *Listener) Is(who *Identity) bool { return who.actsFor(l.who) }
