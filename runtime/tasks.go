package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"mikan/fs"
	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

// taskLimits are those of each run of a task, as far as the settings say nothing:
// it may take its time, but no person sees what it costs.
var taskLimits = harness.Limits{CostUSD: 10}

// taskTitle is how much of a task its title shows, in characters.
const taskTitle = 80

// resumeNote is what a task is told when a start goes on with it.
const resumeNote = "The daemon ended while you worked on your task, and has started again. Calls that ran then have been closed without their results and are not run again: look at what they did before you repeat anything. Go on with the task."

// isTask reports whether the session is a background task.
func (s *Session) isTask() bool { return isTask(s.name) }

func isTask(session string) bool { return strings.HasPrefix(session, wire.TaskPrefix) }

// Task returns a task that is there and not archived.
func (c *Conversation) Task(ctx context.Context, id string) (*Session, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err != nil || n < 1 || strconv.FormatInt(n, 10) != id {
		return nil, fs.NotExist
	}
	return c.Session(ctx, wire.TaskPrefix+id)
}

// TaskNames returns the ids of the tasks that are not archived.
func (c *Conversation) TaskNames(ctx context.Context) ([]string, error) {
	_, tasks, err := c.names(ctx)
	return tasks, err
}

// names returns the names of the sessions that are not archived, those of tasks,
// without what all of these begin with, apart.
func (c *Conversation) names(ctx context.Context) (sessions, tasks []string, err error) {
	err = c.use(ctx, func(db *store.DB) error {
		rows, err := db.Sessions(ctx)
		for _, r := range rows {
			id, task := strings.CutPrefix(r.Name, wire.TaskPrefix)
			switch {
			case r.Archived:
			case task:
				tasks = append(tasks, id)
			default:
				sessions = append(sessions, r.Name)
			}
		}
		return err
	})
	return sessions, tasks, err
}

// begin makes a task of the run now, and starts it.
func (c *Conversation) begin(ctx context.Context, now *run, ack, text string) (*Session, error) {
	if err := c.rt.accepting(); err != nil {
		return nil, err
	}
	done, err := c.mark(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	by := now.prompt
	by.Reply = cmp.Or(by.Reply, by.Source)
	var row store.Session
	var p store.Prompt
	var rec *wire.Record
	err = c.use(ctx, func(db *store.DB) (err error) {
		row, p, rec, err = db.StartTask(ctx, store.NewTask{
			By: by, Text: text, Title: title(text), Ack: ack, Office: string(c.Key), Cwd: c.Dir,
		}, time.Now())
		return err
	})
	if errors.Is(err, store.ErrTooManyTasks) {
		return nil, fmt.Errorf("%d tasks have not ended, the limit of an office; wait for one, or do it yourself", store.TaskLimit)
	}
	if err != nil {
		return nil, err
	}
	s := c.session(row)
	s.accepted(p.ID)
	s.publish(wire.Event{Type: wire.Accepted, Prompt: p.TS(), Actor: p.Actor, Text: p.Text})
	if rec != nil {
		s.publish(wire.Event{Type: wire.Logged, Prompt: p.TS(), Record: rec})
	}
	c.touch()
	c.post()
	s.wake()
	return s, nil
}

// title is the first line of a text, shortened.
func title(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	if r := []rune(line); len(r) > taskTitle {
		return string(r[:taskTitle-1]) + "…"
	}
	return line
}

// suspend leaves the run of a task, which the end of the daemon interrupted, to
// the next start. What the run has come to is kept.
func (s *Session) suspend(base context.Context, p store.Prompt, t *telling, end harness.Ending) (tell func()) {
	ctx := context.WithoutCancel(base)
	err := s.c.use(ctx, func(db *store.DB) error {
		err := db.Append(ctx, s.id, end.Final, time.Now())
		for _, m := range end.Lost {
			err = errors.Join(err, db.AddUsage(ctx, s.id, m))
		}
		return err
	})
	if err != nil {
		s.c.rt.log.Error("the last messages of a task are lost", "office", s.c.Address.String(), "session", s.name, "err", err)
	}
	return func() {
		t.finish(end.Final)
		s.settleAnswer(p.ID, ending(wire.Interrupted, interruptedText))
	}
}

// resume settles the run of a task that the end of the daemon interrupted, and
// has the task go on. It reports false, and does nothing, for one that is to be
// closed.
func (c *Conversation) resume(ctx context.Context, db *store.DB, p store.Prompt, set store.Settlement) (bool, error) {
	resumed, err := db.ResumeTask(ctx, p, set, resumeNote, time.Now())
	if resumed {
		c.rt.log.Info("a task goes on", "office", c.Address.String(), "run", p.Run)
	}
	return resumed, err
}

// openTasks counts the tasks that have not ended.
func (c *Conversation) openTasks(ctx context.Context) (n int, err error) {
	err = c.use(ctx, func(db *store.DB) (err error) { n, err = db.OpenTasks(ctx); return err })
	return n, err
}
