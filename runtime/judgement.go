package runtime

import (
	"encoding/json"
	"errors"
	"time"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// OutboxTimes are the times of the outbox; zero ones have their defaults.
type OutboxTimes struct {
	Answer time.Duration // for an adapter to answer; 30 s
	First  time.Duration // before a post is tried again for the first time; doubled each time; 1 s
	Most   time.Duration // between two tries; 5 min
}

func (t OutboxTimes) withDefaults() OutboxTimes {
	set := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	set(&t.Answer, 30*time.Second)
	set(&t.First, time.Second)
	set(&t.Most, 5*time.Minute)
	return t
}

// wait is how long to wait after so many tries.
func (t OutboxTimes) wait(tries int) time.Duration {
	d := t.First
	for range tries - 1 {
		if d *= 2; d >= t.Most {
			return t.Most
		}
	}
	return d
}

// What ends the tries of a post.
const (
	maxTries = 12             // that failed
	maxAge   = 24 * time.Hour // of one that the platform puts off
	searched = 100            // messages that are searched for a post
)

// judgement decides what becomes of a post.
type judgement struct {
	caps  wire.Caps
	times OutboxTimes
	now   time.Time
}

// posted judges the answer to post.
func (j judgement) posted(p store.Post, reply fs.Reply, err error) store.Post {
	switch kind := fs.KindOf(err); {
	case err == nil && reply.Verb == "ok":
		var a wire.OpAnswer
		_ = json.Unmarshal(reply.Content(), &a) // posted it is, with an id or without
		p.State, p.TS, p.Error = store.PostDone, a.TS, ""
		return p
	case err == nil:
		return j.refused(p, wire.ParseOpError(reply.Text))
	case errors.Is(err, fs.ErrUnread): // it cannot have posted what it has not read
		return j.refused(p, wire.OpError{Text: err.Error()})
	case !reply.Taken && (kind == fs.Invalid || kind == fs.TooBig):
		return j.refused(p, wire.OpError{Text: err.Error(), Final: true})
	case !reply.Taken: // nobody was asked
		p.State, p.Tries = store.PostWaiting, p.Tries-1
		if kind == fs.Again {
			p.Due = j.now.Add(j.times.First)
		}
		return p
	case kind == fs.Interrupted: // by the daemon's end; the next start goes on
		return p
	}
	p.Error = err.Error()
	if !j.caps.ReadsBack() {
		return j.lost(p)
	}
	return j.later(p)
}

// read judges what history says of a post whose answer never came.
func (j judgement) read(p store.Post, reply fs.Reply, err error) store.Post {
	var a wire.OpAnswer
	switch {
	case err == nil && reply.Verb == "ok":
		err = json.Unmarshal(reply.Content(), &a)
	case err == nil:
		if e := wire.ParseOpError(reply.Text); e.RetryAfter > 0 {
			p.Due = j.now.Add(e.RetryAfter)
			return p
		}
		err = errors.New(reply.Text)
	case !reply.Taken:
		p.Due = j.now.Add(j.times.First)
		return p
	}
	if err != nil {
		p.Error = "reading it back: " + err.Error()
		p.Tries++
		return j.later(p)
	}
	for _, m := range a.Messages {
		if m.Key == p.Key {
			p.State, p.TS, p.Error = store.PostDone, m.TS, ""
			return p
		}
	}
	p.State = store.PostWaiting
	return p
}

// refused is a post that the platform has not taken.
func (j judgement) refused(p store.Post, e wire.OpError) store.Post {
	p.State, p.Error = store.PostWaiting, e.Text
	switch {
	case e.Final, p.Tries >= maxTries, e.RetryAfter > 0 && j.now.Sub(p.Made) > maxAge:
		p.State = store.PostFailed
	case e.RetryAfter > 0:
		p.Due, p.Tries = j.now.Add(e.RetryAfter), p.Tries-1
	default:
		p.Due = j.now.Add(j.times.wait(p.Tries))
	}
	return p
}

// later is a post that may stand on the platform, and is to be looked for.
func (j judgement) later(p store.Post) store.Post {
	if p.Tries >= maxTries {
		return j.lost(p)
	}
	p.Due = j.now.Add(j.times.wait(p.Tries))
	return p
}

// lost is a post of which nobody knows whether it stands on the platform.
func (j judgement) lost(p store.Post) store.Post {
	p.State = store.PostUnknown
	if p.Error == "" {
		p.Error = "the daemon ended before the adapter answered"
	}
	p.Error = "it is not known whether this was posted: " + p.Error
	return p
}
