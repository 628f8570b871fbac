package mcp

import "time"

const (
	sayEvery  = time.Millisecond // unasked, on the average
	sayBurst  = time.Second      // for which a server may have been saving up
	maxUnread = 64               // answers that a server may leave unread
)

// pace holds back a server that says more unasked than anybody can use, for what
// it has said and nobody has looked at yet is queued without a bound.
type pace struct{ next time.Time }

// wait waits until the server may say n things more, or done is closed.
func (p *pace) wait(n int, done <-chan struct{}) {
	now := time.Now()
	if saved := now.Add(-sayBurst); p.next.Before(saved) {
		p.next = saved
	}
	p.next = p.next.Add(time.Duration(n) * sayEvery)
	if ahead := p.next.Sub(now); ahead > 0 {
		t := time.NewTimer(ahead)
		defer t.Stop()
		select {
		case <-t.C:
		case <-done:
		}
	}
}

// events counts the ends of events in a stream of them.
type events struct{ atStart bool }

func (e *events) in(stream []byte) (n int) {
	for _, b := range stream {
		switch {
		case b == '\r':
		case b == '\n' && e.atStart:
			n++
		default:
			e.atStart = b == '\n'
		}
	}
	return n
}
