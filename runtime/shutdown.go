package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mikan/fs"
	"mikan/harness"
)

// How long an end waits, after what runs has had its time.
const (
	rollback  = 5 * time.Second // for interrupted runs to settle, and for what is half made to be undone
	inHurry   = time.Second     // the same, when it is asked for a second time
	lastPosts = 2 * time.Second // for what was said to be posted
)

var errEnding = fs.Errorf(fs.Again, "the daemon is ending")

// Shutdown ends the runtime's work, in this order: nothing new is taken; background
// tasks are interrupted, for the next start to go on with; what else runs has the
// time of drain to end by itself; what has not is interrupted, and settles;
// what was said is posted, if someone is there to post it. What waits in queues
// stays there for the next start. Once hurry is done, nothing is waited for any
// longer than it takes to settle.
//
// Each step is tried, whatever the others came to, and the error joins theirs: a
// run that had to be interrupted although it had time, and what did not settle. Of
// several calls the first does it all; the others wait for it and return nil.
func (rt *Runtime) Shutdown(hurry context.Context, drain time.Duration) (err error) {
	rt.ending.Do(func() { err = rt.shutdown(hurry, drain) })
	return err
}

func (rt *Runtime) shutdown(hurry context.Context, drain time.Duration) error {
	rt.Refuse(errEnding)
	rt.hold()
	rt.stopTasks(harness.ErrInterrupted)
	late := rt.drain(hurry, drain)
	rt.stopRuns(harness.ErrInterrupted)
	return errors.Join(late, rt.settled(hurry), rt.rest(hurry))
}

// hold lets no session take another prompt out of its queue.
func (rt *Runtime) hold() {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.held = true
}

// holds reports whether sessions are to leave their queues alone.
func (rt *Runtime) holds() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return rt.held
}

// drain waits until nothing runs any more.
func (rt *Runtime) drain(hurry context.Context, limit time.Duration) error {
	if limit <= 0 {
		return nil
	}
	if within(hurry, limit, rt.loops.Wait) {
		return nil
	}
	names := strings.Join(rt.Running(), ", ")
	switch {
	case names == "":
		return nil
	case hurry.Err() != nil:
		return fmt.Errorf("interrupted %s", names)
	}
	return fmt.Errorf("interrupted %s, which had not ended within %v", names, limit)
}

// leave notes a run that has ended and is left to the next start.
func (rt *Runtime) leave(err error) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.left = errors.Join(rt.left, err)
}

// settled waits until every interrupted run has settled.
func (rt *Runtime) settled(hurry context.Context) error {
	limit := rollback
	if hurry.Err() != nil {
		limit = inHurry
	}
	var late error
	if !within(context.Background(), limit, rt.loops.Wait) {
		late = fmt.Errorf("%s did not settle within %v", strings.Join(rt.Running(), ", "), limit)
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	return errors.Join(late, rt.left)
}

// rest waits for everything else that the runtime has begun: at first for those who
// post what was said.
func (rt *Runtime) rest(hurry context.Context) error {
	rt.mu.Lock()
	rt.closing = true
	rt.mu.Unlock()
	ended := within(hurry, lastPosts, rt.owned.Wait)
	rt.stopPosts()
	if ended || within(context.Background(), inHurry, rt.owned.Wait) {
		return nil
	}
	return fmt.Errorf("something that was begun has not ended within %v", lastPosts+inHurry)
}

// within reports whether wait returns before the time is up and ctx is done.
func within(ctx context.Context, limit time.Duration, wait func()) bool {
	done := make(chan struct{})
	go func() { wait(); close(done) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Close shuts down without waiting for what runs, if that has not been done, ends
// the MCP servers and the daemon's feed and closes the stores.
func (rt *Runtime) Close() error {
	late := rt.Shutdown(context.Background(), 0)
	rt.endServers()
	rt.feed.Close()
	for _, c := range rt.live.all() {
		c.endWell(context.Background())
	}
	return errors.Join(late, rt.pool.Close(), rt.index.Close())
}

// Running names the sessions that are answering a prompt, as in the path.
func (rt *Runtime) Running() []string {
	var names []string
	for _, c := range rt.live.all() {
		c.mu.Lock()
		for _, s := range c.sessions {
			s.mu.Lock()
			if s.run != nil {
				names = append(names, c.Address.String()+"/"+s.path())
			}
			s.mu.Unlock()
		}
		c.mu.Unlock()
	}
	slices.Sort(names)
	return names
}
