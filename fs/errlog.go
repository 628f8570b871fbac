package fs

import (
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxCallers  = 256  // beyond it, the caller who failed longest ago is forgotten
	maxSentence = 4096 // bytes kept of an error
)

// errlog keeps the last error of each caller: a user at a terminal.
type errlog struct {
	mu   sync.Mutex
	list []lastError // the newest last
}

type lastError struct {
	uid      uint32
	terminal int
	text     string
	at       time.Time
}

func (l *errlog) record(who *Identity, err error) {
	text := strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, err.Error())
	if len(text) > maxSentence {
		text = strings.ToValidUTF8(text[:maxSentence], "")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.find(who); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
	if len(l.list) == maxCallers {
		l.list = slices.Delete(l.list, 0, 1)
	}
	l.list = append(l.list, lastError{who.UID, who.Terminal, text + "\n", time.Now()})
}

func (l *errlog) last(who *Identity) (string, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.find(who); i >= 0 {
		return l.list[i].text, l.list[i].at
	}
	return "", time.Time{}
}

// find returns the index of who's entry, or -1.
func (l *errlog) find(who *Identity) int {
	return slices.IndexFunc(l.list, func(e lastError) bool {
		return e.uid == who.UID && e.terminal == who.Terminal
	})
}
