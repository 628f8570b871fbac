package tree_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	mfs "mikan/fs"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

// task gives an office on the platform local a task that has ended.
func (l *lab) task(office string) {
	l.Helper()
	db, err := store.Open(l.ctx(), l.ws.Office(runtime.Address{Platform: runtime.Local, ConversationID: office}).Sessions)
	if err != nil {
		l.Fatal(err)
	}
	defer db.Close()
	main, err := db.Session(l.ctx(), wire.MainSession)
	if err != nil {
		l.Fatal(err)
	}
	s, p, _, err := db.StartTask(l.ctx(), store.NewTask{By: store.Prompt{Session: main.ID, Actor: "local:ann"}, Text: "dig", Title: "dig", Ack: "I will"}, time.Now())
	if err == nil {
		_, err = db.Settle(l.ctx(), store.Settlement{Run: p.ID, Session: s.ID, Outcome: wire.OK, Answer: "dug", Final: "dug"}, time.Now())
	}
	if err != nil {
		l.Fatal(err)
	}
}

func TestTasksDirectory(t *testing.T) {
	l := newLab(t)
	l.task("a")
	if got := l.get("offices/local/a/tasks/1/last"); got != "dug\n" {
		t.Errorf("last: %q", got)
	}
	if got := l.get("offices/local/a/tasks/1/status"); !strings.Contains(got, "session tasks/1\ntitle dig\n") {
		t.Errorf("status: %s", got)
	}
	list, err := l.root.ReadDir(l.ctx(), "offices/local/a/sessions")
	if err != nil || len(list) != 2 { // main and README
		t.Errorf("sessions: %v %v", list, err)
	}
	for _, name := range []string{"sessions/tasks%2F1", "sessions/tasks", "tasks/01", "tasks/+1", "tasks/0", "tasks/main", "tasks/2"} {
		if _, err := l.root.Stat(l.ctx(), "offices/local/a/"+name); !errors.Is(err, mfs.NotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.root.Mkdir(l.ctx(), "offices/local/a/tasks/2", 0o750); !errors.Is(err, mfs.Fixed) {
		t.Errorf("mkdir: %v", err)
	}
	if err := l.root.Remove(l.ctx(), "offices/local/a/tasks/1"); err != nil {
		t.Error(err)
	}
	if _, err := l.root.Stat(l.ctx(), "offices/local/a/tasks/1"); !errors.Is(err, mfs.NotExist) {
		t.Errorf("archived: %v", err)
	}
}
