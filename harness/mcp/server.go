package mcp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// State is where a server stands.
type State string

// The states of a server.
const (
	Idle      State = "idle"      // nobody has wanted it yet
	Starting  State = "starting"  // it has not answered yet
	Connected State = "connected" // its tools are there
	Failed    State = "failed"    // it did not start, or ended; it is tried again when wanted
)

// server is one server and what is known of it.
type server struct {
	Config
	opt     Options
	secrets secrets
	wanted  chan struct{} // somebody wants it to be there
	old     bool          // shake hands in the old way; the keeper's

	mu       sync.Mutex
	news     chan struct{} // closed, and replaced, when the rest changes
	state    State
	begun    time.Time // of Starting
	why      string    // of Failed
	failures int       // in all
	retry    time.Time // of Failed: it is not tried before
	link     *link     // of Connected
	tools    []tool    // of Connected
	notes    []string  // what is wrong with its tools
}

func newServer(c Config, opt Options) *server {
	return &server{Config: c, opt: opt, secrets: secretsOf(c), wanted: make(chan struct{}, 1), news: make(chan struct{}), state: Idle}
}

// change changes what is known and wakes who waits for that.
func (s *server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	close(s.news)
	s.news = make(chan struct{})
}

// want asks for the server to be there.
func (s *server) want() {
	select {
	case s.wanted <- struct{}{}:
	default:
	}
}

// soon is how near the next try must be to be waited for.
const soon = 100 * time.Millisecond

// await wants the server and returns its link when it is there, or nil when it
// has failed, is not to be tried now, or ctx is done.
func (s *server) await(ctx context.Context) *link {
	s.mu.Lock()
	before := s.failures
	for {
		news := s.news
		if s.link != nil || s.failures > before || s.state == Failed && time.Until(s.retry) > soon {
			defer s.mu.Unlock()
			return s.link
		}
		s.mu.Unlock()
		s.want()
		select {
		case <-news:
		case <-ctx.Done():
			return nil
		}
		s.mu.Lock()
	}
}

// awaitShortly is await for a run, which waits only for a server that is not late
// already.
func (s *server) awaitShortly(ctx context.Context) {
	s.mu.Lock()
	late := s.state == Starting && time.Since(s.begun) > s.opt.Wait
	s.mu.Unlock()
	if !late {
		s.await(ctx)
	}
}

// keep keeps the server running while it is wanted, until ctx is done.
func (s *server) keep(ctx context.Context) {
	delay := time.Duration(0)
	for {
		if !sleep(ctx, delay) {
			return
		}
		select {
		case <-s.wanted:
		case <-ctx.Done():
			return
		}
		begun := time.Now()
		err := s.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		delay = min(max(2*delay, s.opt.Retry), maxRetry)
		if time.Since(begun) >= s.opt.Steady && !errors.Is(err, errStart) {
			delay = 0
		}
		select {
		case <-s.wanted: // who wanted it is told that it failed
		default:
		}
		s.change(func() {
			s.state, s.link, s.tools, s.notes = Failed, nil, nil, nil
			s.why, s.retry = s.secrets.line(err.Error()), time.Now().Add(delay)
			s.failures++
		})
	}
}

// sleep reports false if ctx was done before the time had passed.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// errStart is of a server that never was there.
var errStart = errors.New("it did not start")

// serve starts the server and returns when it has ended, with the reason.
func (s *server) serve(ctx context.Context) error {
	s.change(func() { s.state, s.begun = Starting, time.Now() })
	life, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	l, err := s.dial(life, giveUp)
	if err != nil {
		return fmt.Errorf("%w: %w", errStart, err)
	}
	defer l.close(func() { giveUp(errLeft) })
	start, done := context.WithTimeout(life, s.opt.Start)
	defer done()
	if err := l.begin(start, s.old); err != nil {
		s.old = s.old != (start.Err() != nil) // some ignore what they do not know
		return fmt.Errorf("%w: %w%s", errStart, s.silent(start, err), l.said(s.secrets))
	}
	found, notes, err := s.list(start, l.session)
	if err != nil {
		return fmt.Errorf("%w: list its tools: %w%s", errStart, s.silent(start, err), l.said(s.secrets))
	}
	s.change(func() { s.state, s.why, s.link, s.tools, s.notes = Connected, "", l, found, notes })
	return s.stay(life, l)
}

// silent is err, in plain words if it is that the server took too long.
func (s *server) silent(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("it has not answered for %v", s.opt.Start)
	}
	return err
}

// relistEvery is the least time between two listings of a server's tools.
const relistEvery = time.Second

// stay takes note of changes in the server's tools until it ends.
func (s *server) stay(ctx context.Context, l *link) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.ended:
			return fmt.Errorf("it ended%s", l.said(s.secrets))
		case <-l.changed:
		}
		limited, cancel := context.WithTimeout(ctx, s.opt.Start)
		found, notes, err := s.list(limited, l.session)
		cancel()
		if err == nil {
			s.change(func() { s.tools, s.notes = found, notes })
		}
		if !sleep(ctx, relistEvery) {
			return context.Cause(ctx)
		}
	}
}

// dial makes the way to the server.
func (s *server) dial(life context.Context, giveUp context.CancelCauseFunc) (*link, error) {
	l := &link{ended: make(chan struct{}), changed: make(chan struct{}, 1), reports: map[string]func(string){}}
	if s.URL != "" {
		l.transport, l.release = newWeb(life, giveUp, s.Config)
	} else {
		p, err := startProcess(s.Config)
		if err != nil {
			return nil, err
		}
		l.process, l.transport, l.release = p, stdio{p}, p.end
	}
	l.client = sdk.NewClient(&sdk.Implementation{Name: "mikan", Version: s.opt.Version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{}, // there is nobody to ask
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { l.listChanged() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) { l.report(r.Params) },
	})
	return l, nil
}
