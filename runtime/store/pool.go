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
	err   error
	users int
	idle  time.Time // since when, if users is 0
}

// NewPool makes a pool of at most limit open stores.
func NewPool(limit int) *Pool {
	return &Pool{limit: limit, open: map[string]*pooled{}, freed: make(chan struct{})}
}

// Use calls f with the store at path, which is opened if it is not open. When
// the limit is reached it closes the store that has been idle for longest, or
// waits for one to become idle.
func (p *Pool) Use(ctx context.Context, path string, f func(*DB) error) error {
	e, err := p.get(ctx, path)
	if err != nil {
		return err
	}
	defer p.release(path, e)
	if e.err != nil {
		return e.err
	}
	return f(e.db)
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
			<-e.ready // the opener does not give up: see below
			return e, nil
		}
		if len(p.open) < p.limit {
			e := &pooled{ready: make(chan struct{}), users: 1}
			p.open[path] = e
			p.mu.Unlock()
			// Others may wait for this one, so ctx does not end it.
			e.db, e.err = Open(context.WithoutCancel(ctx), path)
			close(e.ready)
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
	if over && e.err == nil {
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
