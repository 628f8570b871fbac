package fs

// Is reports whether who is the listener's client: the same connection or
// process, or one that the process has started.
func (l *Listener) Is(who *Identity) bool { return who.actsFor(l.who) }

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
