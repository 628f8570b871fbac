package mcp

import (
	"sync"
)

// maxTail is how much of a server's standard error is of use.
const maxTail = 4 << 10

// tail keeps the end of what is written to it, twice as much as is of use: where
// it was cut a secret may begin that nobody can know any more.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b[max(0, len(b)-2*maxTail):]...)
	if over := len(t.kept) - 2*maxTail; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

// without is the end of what was written, without the secrets.
func (t *tail) without(s secrets) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := s.all.Replace(string(t.kept))
	return text[max(0, len(text)-maxTail):]
}
