package runtime

import (
	"context"
	"errors"
	"os"
	"os/user"
	"strconv"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// Queue says what becomes of a prompt that comes while its session is busy.
type Queue struct {
	Mode QueueMode `json:"mode,omitempty"`
}

// QueueMode is how a busy session takes a prompt.
type QueueMode string

// The queue modes. The first is the default.
const (
	QueueWaits   QueueMode = "queue"  // it waits for its turn
	QueueSteers  QueueMode = "steer"  // it goes into the running turn, if its actor may; else it waits
	QueueRefuses QueueMode = "refuse" // it is refused, and whoever wrote it is told
)

// QueueModes are all of them.
var QueueModes = []QueueMode{QueueWaits, QueueSteers, QueueRefuses}

// errAtWork refuses a prompt that came while its session was busy.
var errAtWork = errors.New("at work")

// whenBusy is how the session takes a prompt that comes in now. At work, the office's
// queue mode says it, and whoever may not steer what runs waits. The caller holds
// admit.
func (s *Session) whenBusy(ctx context.Context, p store.Prompt) (store.Kind, error) {
	busy, now, err := s.atWork(ctx)
	if err != nil || !busy || p.Kind == store.KindFollowup {
		return p.Kind, err
	}
	mode := QueueSteers
	if p.Kind == store.KindPrompt {
		mode = s.c.queueMode()
	}
	switch {
	case mode == QueueRefuses:
		return "", errAtWork
	case mode == QueueSteers && now != nil && s.c.rt.maySteer(p, *now):
		return store.KindSteer, nil
	}
	return store.KindPrompt, nil
}

// queueMode is the office's. Where the settings cannot be read a prompt waits, and
// its run tells why.
func (c *Conversation) queueMode() QueueMode {
	settings, _ := c.effective()
	return settings.Queue.Mode
}

// atWork reports whether anything of the session runs or waits, and the prompt
// that is being answered, if one is.
func (s *Session) atWork(ctx context.Context) (busy bool, now *store.Prompt, err error) {
	s.mu.Lock()
	looping := s.looping
	if s.run != nil {
		now = &s.run.prompt
	}
	s.mu.Unlock()
	if !looping {
		return false, nil, nil
	}
	load, err := s.c.load(ctx, s.id)
	return load != (store.Load{}), now, err
}

// maySteer reports whether the rights of p's actor include those of a run, so that
// what he says can become a part of it: he began it, or he is the daemon's owner.
func (rt *Runtime) maySteer(p, run store.Prompt) bool {
	return p.Actor == run.Actor || p.Actor == rt.owner
}

// ownerID is the actor that the daemon's own user is.
func ownerID() string {
	name := strconv.Itoa(os.Getuid())
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	return Local + ":" + name
}

// refusal is the error of a prompt that came by a file at the wrong time.
func (s *Session) refusal() error {
	return fs.Errorf(fs.Busy, "the session %s is at work, and queue.mode is %s; try again when it is idle, or stop it", s.name, QueueRefuses)
}

// refusedText is what the platform gets of a message that came at the wrong time.
const refusedText = "Already at work on an earlier message, so this one is not taken. Please send it again when that one is answered."

// refusedPost tells the platform that m was not taken.
func (c *Conversation) refusedPost(m wire.InMessage) store.Post {
	return store.Post{Key: string(c.Key) + "/refused/" + m.TS, Thread: m.Reply, Text: refusedText}
}
