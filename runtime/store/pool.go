package store

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pool opens stores when they are first used and keeps at most a fixed number
// open. It is safe for use by many goroutines.
type Pool struct {
	// Aside, if it is set before the first use, is told of each store that was
	// moved aside.
	Aside func(*Unusable)

	limit int

	mu     sync.Mutex
	open   map[string]*pooled
	freed  chan struct{} // closed, and replaced, when a store becomes idle
	closed bool
}

// ErrClosed is returned by [Pool.Use] after [Pool.Close].
var ErrClosed = errors.New("the stores are closed")

type pooled struct {
	ready chan struct{} // closed when db and err are set
	db    *DB
	err   error // later also that the store was found damaged
	users int
	idle  time.Time // since when, if users is 0
}

// NewPool makes a pool of at most limit open stores.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, open: map[string]*pooled{}, freed: make(chan struct{})}
}

// Use calls f with the store at path, which is opened if it is not open. When
// the limit is reached it closes the store that has been idle for longest, or
// waits for one to become idle. A store that is damaged is moved aside, as soon as
// nobody uses it; the error is an [*Unusable] from then on.
func (p *Pool) Use(ctx context.Context, path string, f func(*DB) error) error {
	e, err := p.get(ctx, path)
	if err != nil {
		return err
	}
	defer p.release(path, e)
	if err := p.failure(e); err != nil {
		return err
	}
	err = f(e.db)
	if damaged(err) {
		err = p.condemn(path, e, err)
	}
	return err
}

func (p *Pool) failure(e *pooled) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return e.err
}

// condemn lets nobody use a store any more that has turned out to be damaged.
func (p *Pool) condemn(path string, e *pooled, why error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e.err == nil {
		e.err = &Unusable{Path: path, Err: why}
	}
	return e.err
}

// bury closes a condemned store and moves it aside.
func (p *Pool) bury(path string, db *DB, why error) {
	p.tell(errors.Join(db.Close(), setAside(path, why, time.Now())))
}

// tell passes on that a store was moved aside.
func (p *Pool) tell(err error) {
	var u *Unusable
	if p.Aside != nil && errors.As(err, &u) && u.Aside != "" && u.Err != nil {
		p.Aside(u)
	}
}

func (p *Pool) get(ctx context.Context, path string) (*pooled, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, ErrClosed
		}
		if e := p.open[path]; e != nil {
			e.users++
			p.mu.Unlock()
			select {
			case <-e.ready:
				return e, nil
			case <-ctx.Done(): // bringing a long history up to date takes its time
				p.release(path, e)
				return nil, ctx.Err()
			}
		}
		if len(p.open) < p.limit {
			e := &pooled{ready: make(chan struct{}), users: 1}
			p.open[path] = e
			p.mu.Unlock()
			// Others may wait for this one, so ctx does not end it.
			e.db, e.err = openSound(context.WithoutCancel(ctx), path)
			close(e.ready)
			p.tell(e.err)
			return e, nil
		}
		victim, freed := p.takeIdle(), p.freed
		p.mu.Unlock()
		if victim != nil {
			if err := victim.Close(); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// takeIdle removes the store that has been idle for longest from the pool.
func (p *Pool) takeIdle() *DB {
	var path string
	var oldest *pooled
	for k, e := range p.open {
		if e.users == 0 && (oldest == nil || e.idle.Before(oldest.idle)) {
			path, oldest = k, e
		}
	}
	if oldest == nil {
		return nil
	}
	delete(p.open, path)
	return oldest.db
}

func (p *Pool) release(path string, e *pooled) {
	p.mu.Lock()
	if e.users == 1 && e.err != nil && e.db != nil {
		db, why := e.db, errors.Unwrap(e.err)
		e.db = nil
		p.mu.Unlock()
		p.bury(path, db, why) // the store is still in use, so that nobody opens it meanwhile
		p.mu.Lock()
	}
	e.users--
	idle := e.users == 0
	over := idle && (e.err != nil || p.closed)
	if idle {
		e.idle = time.Now()
		close(p.freed)
		p.freed = make(chan struct{})
	}
	if over {
		delete(p.open, path)
	}
	p.mu.Unlock()
	if over && e.db != nil {
		e.db.Close() // Pool.Close has returned: nobody is left to tell
	}
}

// Close closes all stores, those in use when they no longer are, and ends the
// use of the pool.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	var idle []*DB
	for path, e := range p.open {
		if e.users == 0 {
			idle = append(idle, e.db)
			delete(p.open, path)
		}
	}
	p.mu.Unlock()
	var errs []error
	for _, db := range idle {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
