package harness

import (
	"context"
	"path"
	"sync"
)

// Writers lets the tools of all that work on one computer change a file one
// after the other, so that of two edits at the same time none is lost. Its zero
// value is ready; a nil one keeps nobody apart.
type Writers struct {
	mu    sync.Mutex
	files map[string]*turns
}

// turns is whose turn it is with one file.
type turns struct {
	token chan struct{}
	users int // who has it, and who waits
}

// hold waits until nobody else changes the file name of c, and keeps others from
// it until release is called.
func (w *Writers) hold(ctx context.Context, c Computer, name string) (release func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	if !path.IsAbs(name) {
		name = path.Join(c.Dir(), name)
	}
	name = path.Clean(name)
	t := w.join(name)
	select {
	case t.token <- struct{}{}:
		return func() { <-t.token; w.leave(name, t) }, nil
	case <-ctx.Done():
		w.leave(name, t)
		return nil, context.Cause(ctx)
	}
}

func (w *Writers) join(name string) *turns {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.files[name]
	if t == nil {
		if w.files == nil {
			w.files = map[string]*turns{}
		}
		t = &turns{token: make(chan struct{}, 1)}
		w.files[name] = t
	}
	t.users++
	return t
}

func (w *Writers) leave(name string, t *turns) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.users--; t.users == 0 {
		delete(w.files, name)
	}
}
