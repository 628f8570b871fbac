package fs

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxListeners = 256 // open files of a service
	maxQuestions = 256 // questions that a listener has not answered
)

// Service is a file by which a client serves the tree: who opens it, for reading
// and writing, becomes a [Listener]. A read gives one request, a line "<tag>
// <json>" of at most 1 KiB, and waits until there is one; what is longer stands
// in a file that the line names, see [Bodies]. A write gives answers, a line
// "<tag> <verb> …" each, whole or in pieces; one that is wrong is the write's
// error, drops the rest of that write, and leaves its question open. To close
// the file is to withdraw, and settles what was not answered. Whose rights have
// expired is withdrawn by the next that comes.
//
// Whom to ask is the server's affair: [Service.Listeners] are there for all to be
// asked, an Exclusive service has one, and [Service.For] shares them out by a
// key. The zero value works. A Service is kept and not made anew for each walk.
//
// Package fs/serve is the client's side.
type Service struct {
	Mode      FileMode // 0: 0600
	Exclusive bool     // a second opener gets Busy
	// Verbs are the answers that there are; nil: those of a call, "ok [json]" and
	// "error text".
	Verbs []Verb
	// Timeout bounds each question; 0: only its context does.
	Timeout time.Duration
	// Rank orders the listeners, the lowest first; those of one rank, and all of
	// them if it is nil, stand in the order in which they opened the file.
	Rank func(*Identity) int
	// Ready is told, without a lock, that there is one to ask who was not there
	// before: a client has opened the file, or reads again after it has let a
	// question time out.
	Ready func()
	// Bodies are the bodies of the requests, served as [BodyDir] in the same
	// directory; nil: no request has one.
	Bodies *Bodies
	// Of is what must live as long as the file is known to anyone: who asks its
	// listeners. It may be nil.
	Of any

	own Bodies // gives the tags if Bodies is nil

	mu        sync.Mutex // guards what follows, and the listeners
	closed    bool
	opened    uint64 // listeners so far
	listeners []*Listener
	keys      map[string]*Listener // of For
}

// Verb is a word that an answer begins with, and what follows it.
type Verb struct {
	Name  string
	Takes Operand
	// Informed makes the verb count as no answer, [ErrUnread], to a request whose
	// body was not read: who allows something must have seen it.
	Informed bool
}

// Operand says what follows a verb to the end of the line.
type Operand uint8

// The operands. Where an answer that must have JSON has none, the body that the
// listener has put in the place of the request's is it.
const (
	TakesNothing Operand = iota
	TakesText            // any, or none
	TakesJSON
	MayTakeJSON
)

func (s *Service) verbs() []Verb {
	if s.Verbs != nil {
		return s.Verbs
	}
	return []Verb{{Name: "ok", Takes: MayTakeJSON, Informed: true}, {Name: "error", Takes: TakesText}}
}

// verb finds a verb, or says which there are.
func (s *Service) verb(name string) (Verb, error) {
	var names []string
	for _, v := range s.verbs() {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return Verb{}, Errorf(Invalid, "unknown verb %.64q; answer %s", name, strings.Join(names, ", "))
}

func (s *Service) bodies() *Bodies {
	if s.Bodies != nil {
		return s.Bodies
	}
	return &s.own
}

var _ Opener = (*Service)(nil)

// Stat describes the file; it has no size.
func (s *Service) Stat(context.Context) (Info, error) {
	mode := modeOr(s.Mode, 0o600) | ModeTemporary
	if s.Exclusive {
		mode |= ModeExclusive
	}
	return Info{Mode: mode}, nil
}

// Open makes who a listener.
func (s *Service) Open(_ context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Read == 0 || how&Write == 0 {
		return nil, Errorf(Invalid, "a service file is opened for reading and writing at once: exec 3<>file")
	}
	l, err := s.enlist(who)
	if err != nil {
		return nil, err
	}
	s.ready()
	return newServiceHandle(l), nil
}

func (s *Service) ready() {
	if s.Ready != nil {
		s.Ready()
	}
}

// enlist adds a listener.
func (s *Service) enlist(who *Identity) (*Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.withdrawExpiredLocked()
	switch {
	case s.closed:
		return nil, Errorf(NotExist, "the service has ended")
	case s.Exclusive && len(s.listeners) > 0:
		return nil, Errorf(Busy, "another client serves this file; end that one first")
	case len(s.listeners) >= maxListeners:
		return nil, Errorf(Again, "%d clients serve this file already", maxListeners)
	}
	s.opened++
	l := newListener(s, who, s.opened)
	s.listeners = append(s.listeners, l)
	return l, nil
}

// withdrawExpiredLocked makes room: who may do nothing here any more must not
// keep others out. mu is held.
func (s *Service) withdrawExpiredLocked() {
	for _, l := range slices.Clone(s.listeners) {
		if l.who.Valid() != nil {
			l.withdrawLocked()
		}
	}
}

// Close ends the service: listeners read the end of the file, and what they have
// not answered is settled with [ErrGone]. It is idempotent.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, l := range slices.Clone(s.listeners) {
		l.withdrawLocked()
	}
}

// Listeners are those to ask now, in order. It leaves out whoever has let a
// question time out and neither reads nor has read or answered since: a file may
// be held open by what a script has left behind.
func (s *Service) Listeners() []*Listener {
	s.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(s.listeners), func(l *Listener) bool {
		return l.suspect || l.who.Valid() != nil
	})
	s.mu.Unlock()
	if s.Rank != nil {
		slices.SortStableFunc(list, func(a, b *Listener) int { return cmp.Compare(s.Rank(a.who), s.Rank(b.who)) })
	}
	return list
}

// For gives the listener for key, nil if there is none. It is the same one as
// long as that has the file open, silent or not; the next is the first of those
// with the fewest keys.
func (s *Service) For(key string) *Listener {
	list := s.Listeners()
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.keys[key]; l != nil {
		return l
	}
	list = slices.DeleteFunc(list, func(l *Listener) bool { return l.gone })
	if len(list) == 0 {
		return nil
	}
	l := slices.MinFunc(list, func(a, b *Listener) int { return cmp.Compare(a.keys, b.keys) })
	if s.keys == nil {
		s.keys = map[string]*Listener{}
	}
	s.keys[key] = l
	l.keys++
	return l
}

// Forget lets the next [Service.For] of key choose anew.
func (s *Service) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.keys[key]; l != nil {
		l.keys--
		delete(s.keys, key)
	}
}

// Holds reports whether who has a question here that it has not answered, so
// that it must not wait for what waits for the answer. A client is the same if it
// is the same connection or process, or one that the process has started.
func (s *Service) Holds(who *Identity) bool {
	s.mu.Lock()
	var holders []*Identity
	for _, l := range s.listeners {
		if len(l.open) > 0 {
			holders = append(holders, l.who)
		}
	}
	s.mu.Unlock()
	return slices.ContainsFunc(holders, who.actsFor)
}

// removeLocked takes l out of everything; mu is held.
func (s *Service) removeLocked(l *Listener) {
	s.listeners = slices.DeleteFunc(s.listeners, func(x *Listener) bool { return x == l })
	maps.DeleteFunc(s.keys, func(_ string, x *Listener) bool { return x == l })
}

// Suspects is how many have the file open and are not among the listeners,
// because they have let a question time out.
func (s *Service) Suspects() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.listeners {
		if l.suspect {
			n++
		}
	}
	return n
}
