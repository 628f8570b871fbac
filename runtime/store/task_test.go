package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mikan/wire"
)

// begun starts a task and takes its prompt out of the queue.
func begun(t *testing.T, db *DB, by Prompt, now time.Time) (Session, Prompt) {
	t.Helper()
	s, p, _, err := db.StartTask(t.Context(), NewTask{By: by, Text: "dig", Title: "dig", Ack: "I will", Office: "key", Cwd: "/office"}, now)
	if err == nil {
		err = db.Begin(t.Context(), p.ID, []Prompt{p}, []wire.Message{user("dig")}, Told{}, now)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, p
}

func TestTaskBeginsWithItsSessionItsPromptAndWhatTheChatIsTold(t *testing.T) {
	db, main := newStore(t)
	by := Prompt{ID: 77, Session: main.ID, Actor: "bus:u1", Name: "ann", Source: "m1", Thread: "", Reply: "m0"}
	s, p, r, err := db.StartTask(t.Context(), NewTask{By: by, Text: "dig", Title: "dig a hole", Ack: "I will", Office: "key"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if s.Name != "tasks/1" || s.Title != "dig a hole" || r != nil || p.Session != s.ID || p.Text != "dig" || p.Actor != "bus:u1" || p.Reply != "m0" {
		t.Errorf("%+v %+v %+v", s, p, r)
	}
	post, ok, err := db.NextPost(t.Context())
	if err != nil || !ok || post.Text != "I will" || post.Thread != "m0" || post.Key != "key/"+p.TS()+"/ack" {
		t.Errorf("%+v %v", post, err)
	}
	head, _ := headerOf(t.Context(), db.sql, main.ID)
	if text := string(transcript(t, db, s.ID, 100)); !strings.Contains(text, `"parentSession":"`+head.ID+`"`) {
		t.Error(text)
	}

	by.Source = ""
	s, p, r, err = db.StartTask(t.Context(), NewTask{By: by, Text: "dig", Ack: "I will", Office: "key"}, time.Now())
	if err != nil || s.Name != "tasks/2" || r == nil || r.Text != "I will" || r.TS != p.TS() || !r.IsBot {
		t.Errorf("%+v %+v %v", s, r, err)
	}
	list, err := db.Tasks(t.Context(), 0, 10)
	if err != nil || len(list) != 2 || list[0].ID != 2 || list[1].Title != "dig a hole" || list[0].Prompt.State != Queued {
		t.Errorf("%+v %v", list, err)
	}
	if list, err := db.Tasks(t.Context(), 3, 10); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestTasksAreBounded(t *testing.T) {
	db, main := newStore(t)
	by := Prompt{Session: main.ID}
	for range TaskLimit {
		if _, _, _, err := db.StartTask(t.Context(), NewTask{By: by, Text: "dig"}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := db.StartTask(t.Context(), NewTask{By: by, Text: "dig"}, time.Now()); !errors.Is(err, ErrTooManyTasks) {
		t.Error(err)
	}
	if n, err := db.OpenTasks(t.Context()); n != TaskLimit || err != nil {
		t.Error(n, err)
	}
	if list, err := db.Sessions(t.Context()); len(list) != TaskLimit+1 || err != nil {
		t.Errorf("%d sessions, %v: a task that is refused leaves one", len(list), err)
	}
}

func TestATaskIsResumedTwiceAndWithinADay(t *testing.T) {
	db, main := newStore(t)
	now := time.Now()
	s, p := begun(t, db, Prompt{Session: main.ID, Actor: "local:ann", Reply: "m0"}, now)
	resume := func(at time.Time) bool {
		t.Helper()
		ok, err := db.ResumeTask(t.Context(), p, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.Interrupted, Text: "not said"}, "go on", at)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if resume(now.Add(25 * time.Hour)) {
		t.Error("resumed after a day")
	}
	for i := range 3 {
		if got := resume(now.Add(23 * time.Hour)); got != (i < 2) {
			t.Fatalf("start %d: resumed %v", i+1, got)
		}
		if i == 2 {
			break
		}
		next, ok, _, err := db.Next(t.Context(), s.ID, now)
		if err != nil || !ok || next.ID == p.ID || next.Text != "go on" || next.Kind != KindFollowup || next.Actor != p.Actor || next.Reply != "m0" {
			t.Fatalf("%+v %v", next, err)
		}
		if old, _, _ := db.Prompt(t.Context(), p.ID); old.State != Done || old.Outcome != wire.Interrupted {
			t.Errorf("%+v", old)
		}
		p = next
		if err := db.Begin(t.Context(), p.ID, []Prompt{p}, []wire.Message{user("go on")}, Told{}, now); err != nil {
			t.Fatal(err)
		}
	}
	if p, _, _ := db.Prompt(t.Context(), p.ID); p.State != Running {
		t.Errorf("%+v", p)
	}
	var said int
	if err := db.sql.QueryRowContext(context.Background(), `SELECT count(*) FROM record`).Scan(&said); err != nil || said != 1 {
		t.Error(fmt.Sprint(said, " records, want the acknowledgement alone "), err)
	}
}

// A task stands as its run does, whatever has come in behind it.
func TestATaskThatRunsIsNotSeenAsQueued(t *testing.T) {
	db, main := newStore(t)
	s, p := begun(t, db, Prompt{Session: main.ID, Actor: "local:ann"}, time.Now())
	if _, _, err := db.Accept(t.Context(), Prompt{Session: s.ID, Kind: KindPrompt, Actor: "local:bob", Text: "and?", Accepted: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if list, err := db.Tasks(t.Context(), 1, 1); err != nil || len(list) != 1 || list[0].Prompt.ID != p.ID {
		t.Errorf("%+v %v", list, err)
	}
}

// However much waits in the queue of a task, a start goes on with it.
func TestATaskIsResumedWithAFullQueue(t *testing.T) {
	db, main := newStore(t)
	now := time.Now()
	s, p := begun(t, db, Prompt{Session: main.ID, Actor: "local:ann"}, now)
	_, err := db.sql.ExecContext(t.Context(), `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
		INSERT INTO prompt(session, kind, actor, name, text, state, accepted) SELECT ?2, 'prompt', 'local:bob', 'bob', 'and?', 'queued', 0 FROM n`, QueueLimit, s.ID)
	if err != nil {
		t.Fatal(err)
	}
	resumed, err := db.ResumeTask(t.Context(), p, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.Interrupted}, "go on", now)
	if err != nil || !resumed {
		t.Fatal(resumed, err)
	}
	if next, ok, _, err := db.Next(t.Context(), s.ID, now); err != nil || !ok || next.Text != "go on" {
		t.Errorf("%+v %v", next, err)
	}
}

// Who has had a task start afresh does not want it to go on: the next start would
// only know that there was something.
func TestATaskThatIsToStartAfreshIsNotResumed(t *testing.T) {
	db, main := newStore(t)
	s, p := begun(t, db, Prompt{Session: main.ID, Actor: "local:ann"}, time.Now())
	if err := db.Renew(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	resumed, err := db.ResumeTask(t.Context(), p, Settlement{Run: p.ID, Session: s.ID, Outcome: wire.Interrupted}, "go on", time.Now())
	if err != nil || resumed {
		t.Error(resumed, err)
	}
}
