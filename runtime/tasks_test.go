package runtime_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/runtime/store"
	"mikan/wire"
)

// begins is a turn that starts a background task.
func begins(task string) modeltest.Turn {
	return calls("start_task", fmt.Sprintf(`{"label":"dig","acknowledgement":"I am at it","task":%q}`, task))
}

// task returns a task of an office, once it is there.
func task(t testing.TB, c *runtime.Conversation, id string) *runtime.Session {
	t.Helper()
	s, err := c.Task(ctx(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// said are the records of an office's log.
func said(t testing.TB, c *runtime.Conversation) (list []string) {
	t.Helper()
	size, _, err := c.LogSize(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, size)
	if _, err := c.ReadLog(ctx(t), data, 0); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r wire.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		text, _, _ := strings.Cut(r.Text, "\n")
		list = append(list, text)
	}
	return list
}

func TestATaskAcknowledgesWorksAndAnswers(t *testing.T) {
	l := newLab(t)
	lab, _ := l.scripted(begins("$ echo dug"), says("[SILENT]"), calls("task_status", `{"label":"look","id":"tasks/1"}`), says("it is done"))
	rt := l.start()
	c := l.office(rt, "demo")
	s := use(t, session(t, c, "main"), "lab/m")
	answer(t, s, "go")
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := answer(t, s, "and?"); got != "it is done\n" {
		t.Error(got)
	}
	list := said(t, c)
	slices.Sort(list)
	same(t, "the log", list, []string{"I am at it", "[SILENT]", "and?", "dug", "go", "it is done"})
	if got := results(t, lab); !strings.HasPrefix(got[0], "Task 1 has started") ||
		!strings.HasPrefix(got[1], `{"tasks":[{"id":"1","state":"done","task":"$ echo dug","started":"`) || !strings.HasSuffix(got[1], `"text":"dug"}]}`) {
		t.Errorf("%q", got)
	}
	if text := transcriptOf(t, task(t, c, "1")); !strings.Contains(text, "[ann]: $ echo dug") {
		t.Error(text)
	}
	names, err := c.SessionNames(ctx(t))
	if err != nil || !slices.Equal(names, []string{"main"}) {
		t.Errorf("sessions %q %v", names, err)
	}
	for _, tool := range []string{"start_task", "task_status"} {
		if strings.Contains(string(lab.Requests()[0].Body), tool) == false {
			t.Errorf("the model is not offered %s", tool)
		}
	}
}

func TestStartTaskIsTheOnlyCallOfItsReply(t *testing.T) {
	l := newLab(t)
	two := begins("$ echo dug")
	two.Calls = append(two.Calls, modeltest.Call{ID: "c2", Name: "read", Arguments: `{"label":"look","path":"none"}`})
	lab, _ := l.scripted(two, calls("start_task", `{"label":"dig","acknowledgement":" ","task":"x"}`), says("done"))
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	got := results(t, lab)
	if !strings.HasPrefix(got[0], "start_task must be the only call") || !strings.Contains(got[2], "acknowledgement and task are needed") {
		t.Errorf("%q", got)
	}
	if names, err := c.TaskNames(ctx(t)); len(names) > 0 || err != nil {
		t.Errorf("%q %v", names, err)
	}
}

func TestTheConversationGoesOnWhileATaskRuns(t *testing.T) {
	l := newLab(t)
	lab, _ := l.scripted(begins("$ touch ready; sleep 60"), says("ok"), calls("task_status", `{"label":"look"}`), says("it runs"))
	rt := l.start()
	c := l.office(rt, "demo")
	s := use(t, session(t, c, "main"), "lab/m")
	answer(t, s, "go")
	eventually(t, "the task", exists(filepath.Join(c.Dir, "ready")))
	if got := answer(t, s, "and?"); got != "it runs\n" {
		t.Error(got)
	}
	if got := results(t, lab)[1]; !strings.Contains(got, `"state":"running"`) || !strings.Contains(got, `"currentTool":"bash"`) {
		t.Error(got)
	}
	if text, _, err := c.Status(ctx(t)); err != nil || !strings.Contains(string(text), "state running\nqueued 0\ntasks 1\n") {
		t.Errorf("%s %v", text, err)
	}
	if err := c.Archive(ctx(t)); !errors.Is(err, fs.Busy) {
		t.Errorf("archived while a task runs: %v", err)
	}
	if err := task(t, c, "1").Archive(ctx(t)); !errors.Is(err, fs.Busy) {
		t.Errorf("the task is archived while it runs: %v", err)
	}
	// It survives new, and ends with stop.
	if err := c.Command(ctx(t), ann, "new"); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(status(t, task(t, c, "1")), "state running\n") {
		t.Errorf("after new: %s", status(t, task(t, c, "1")))
	}
	if err := c.Command(ctx(t), ann, "stop tasks/2"); !errors.Is(err, fs.NotExist) {
		t.Errorf("stop of no task: %v", err)
	}
	if err := c.Command(ctx(t), ann, "stop tasks/1"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := status(t, task(t, c, "1")); !strings.Contains(got, "last stopped\n") {
		t.Error(got)
	}
	if err := task(t, c, "1").Archive(ctx(t)); err != nil {
		t.Error(err)
	}
}

func TestStopAllStopsTasks(t *testing.T) {
	l := newLab(t)
	l.scripted(begins("$ touch ready; sleep 60"), says("ok"))
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	eventually(t, "the task", exists(filepath.Join(c.Dir, "ready")))
	if err := c.Command(ctx(t), ann, "stop all"); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
}

func TestATaskOutlivesARestart(t *testing.T) {
	l := newLab(t)
	l.scripted(begins("$ echo ran >>ran; touch ready; sleep 60"), says("ok"))
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	eventually(t, "the task", exists(filepath.Join(c.Dir, "ready")))
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	c = l.office(l.start(), "demo")
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	s := task(t, c, "1")
	if got := status(t, s); !strings.Contains(got, "last ok\n") {
		t.Error(got)
	}
	if data, err := os.ReadFile(filepath.Join(c.Dir, "ran")); err != nil || string(data) != "ran\n" {
		t.Errorf("the call was run again: %q %v", data, err)
	}
	text := transcriptOf(t, s)
	if !strings.Contains(text, "Command was interrupted: the daemon ended") || !strings.Contains(text, "[ann]: The daemon ended while you worked on your task") {
		t.Error(text)
	}
	same(t, "the log", said(t, c), []string{"go", "I am at it", "ok", "demo: The daemon ended while you worked on your task, and has started again. Calls that ran then have been closed without their results and are not run again: look at what they did before you repeat anything. Go on with the task."})
}

func TestATaskIsGivenUpAtTheThirdInterruption(t *testing.T) {
	l := newLab(t)
	_, kids := l.scripted(begins("dig"), says("ok"))
	l.write("settings.json", `{"llm":{"provider":"kids","model":"m"}}`)
	for i := range 3 {
		kids.Then(calls("bash", fmt.Sprintf(`{"label":"dig","command":"touch ready%d; sleep 60"}`, i)))
	}
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	for i := range 3 {
		eventually(t, "the task", exists(filepath.Join(c.Dir, fmt.Sprintf("ready%d", i))))
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		rt = l.start()
		c = l.office(rt, "demo")
	}
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := status(t, task(t, c, "1")); !strings.Contains(got, "last interrupted\n") {
		t.Error(got)
	}
	same(t, "the log", said(t, c), []string{"go", "I am at it", "ok", "[interrupted: the daemon ended while it ran]"})
	if got := kids.Refusals(); len(got) > 0 {
		t.Errorf("the model's server refused %q", got)
	}
}

func TestATaskMayNotCostMoreThanItsLimit(t *testing.T) {
	l := newLab(t)
	_, kids := l.scripted(begins("dig"), says("ok"))
	l.write("settings.json", `{"llm":{"provider":"kids","model":"m"}}`)
	for i := range 3 {
		turn := calls("bash", fmt.Sprintf(`{"label":"dig","command":"echo %d"}`, i))
		turn.Usage.Input = 6 // at a dollar each
		kids.Then(turn)
	}
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	list := said(t, c)
	if !slices.Contains(list, "[budget: cost 12.0000 USD >= 10.0000 USD limit]") || kids.Left() != 1 {
		t.Errorf("%q, and %d turns are left", list, kids.Left())
	}
	if strings.Contains(string(kids.Requests()[0].Body), "start_task") {
		t.Error("a task can start tasks")
	}
}

func TestATaskAnswersInTheThreadOfTheMessageThatStartedIt(t *testing.T) {
	l := newLab(t)
	l.scripted(begins("$ echo dug"), says("[SILENT]"))
	c := l.join(l.start(), "bus", fake.NewBus())
	c.say("C1", "hello")
	c.answers("C1", 1)
	office, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
	if err != nil {
		t.Fatal(err)
	}
	use(t, session(t, office, "main"), "lab/m")
	ts := c.say("C1", "go")
	got := c.answers("C1", 3)
	slices.Sort(got[1:])
	same(t, "answers", got[1:], []string{"I am at it", "dug"})
	for _, m := range c.bus.Transcript("C1") {
		if m.Text == "I am at it" || strings.HasPrefix(m.Text, "dug") {
			if m.Thread != ts {
				t.Errorf("%q stands in the thread %q, want %q", m.Text, m.Thread, ts)
			}
		}
	}
	for _, r := range c.records("C1") {
		if r.User != "bot" && r.Text == "$ echo dug" {
			t.Errorf("the task is in the log as if a person had said it: %+v", r)
		}
	}
	if got := task(t, office, "1"); got.Name() != wire.TaskPrefix+"1" {
		t.Error(got.Name())
	}
}

// killed leaves an office as a daemon does that is killed while a task's call runs.
func (l *lab) killed(c *runtime.Conversation, started time.Time) {
	l.t.Helper()
	db, err := store.Open(ctx(l.t), c.Office.Sessions)
	if err != nil {
		l.t.Fatal(err)
	}
	main, err := db.Session(ctx(l.t), wire.MainSession)
	if err != nil {
		l.t.Fatal(err)
	}
	_, p, _, err := db.StartTask(ctx(l.t), store.NewTask{By: store.Prompt{Session: main.ID, Actor: "local:ann", Name: "ann"}, Text: "dig", Ack: "I am at it"}, started)
	if err == nil {
		err = db.Begin(ctx(l.t), p.ID, []store.Prompt{p}, []wire.Message{
			{Role: wire.User, Content: []wire.Part{wire.TextPart("dig")}},
			{Role: wire.Assistant, Content: []wire.Part{{Type: wire.ToolCall, ID: "c1", Name: "bash", Arguments: json.RawMessage(`{"label":"dig","command":"touch again"}`)}}},
		}, store.Told{System: "system"}, started)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(l.ws.StateDir, "index.db")); err != nil { // so that every office is looked at
		l.t.Fatal(err)
	}
}

func TestATaskOutlivesAKill(t *testing.T) {
	for _, tt := range []struct {
		age     time.Duration
		outcome string
		log     []string
	}{
		{time.Hour, "ok", []string{"I am at it", "done"}},
		{25 * time.Hour, "interrupted", []string{"I am at it", "[interrupted: the daemon ended while it ran]"}},
	} {
		l := newLab(t)
		lab, _ := l.scripted(says("done"))
		l.write("settings.json", `{"llm":{"provider":"lab","model":"m"}}`)
		rt := l.start()
		c := l.office(rt, "demo")
		if err := rt.Close(); err != nil {
			t.Fatal(err)
		}
		l.killed(c, time.Now().Add(-tt.age))
		c = l.office(l.start(), "demo")
		if err := c.Wait(ctx(t)); err != nil {
			t.Fatal(err)
		}
		s := task(t, c, "1")
		if got := status(t, s); !strings.Contains(got, "last "+tt.outcome+"\n") {
			t.Errorf("%v: %s", tt.age, got)
		}
		same(t, "the log", said(t, c), tt.log)
		if exists(filepath.Join(c.Dir, "again"))() {
			t.Error("the call was run again")
		}
		if text := transcriptOf(t, s); strings.Count(text, `"toolCallId":"c1"`) != 1 {
			t.Errorf("%v: %s", tt.age, text)
		}
		if got := lab.Refusals(); len(got) > 0 {
			t.Errorf("the model's server refused %q", got)
		}
	}
}

func TestAnEndDoesNotWaitForTasks(t *testing.T) {
	l := newLab(t)
	l.scripted(begins("$ touch ready; sleep 60"), says("ok"))
	rt := l.start()
	c := l.office(rt, "demo")
	answer(t, use(t, session(t, c, "main"), "lab/m"), "go")
	eventually(t, "the task", exists(filepath.Join(c.Dir, "ready")))
	began := time.Now()
	if err := ended(t, ends(rt, leisure, patience)); err != nil || time.Since(began) > patience/2 {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	c = l.office(l.start(), "demo")
	if err := c.Wait(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if got := status(t, task(t, c, "1")); !strings.Contains(got, "last ok\n") {
		t.Error(got)
	}
}
