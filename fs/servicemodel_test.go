package fs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"mikan/fs"
)

// asked is a question of the model.
type asked struct {
	tag     int // 0: never put
	by      int // the listener
	cancel  context.CancelFunc
	done    chan answered
	want    error  // how it must have ended; errNone: with verb
	verb    string // of the answer
	settled bool
}

var errNone = errors.New("an answer")

// model drives listeners of one service, and knows what must come of it.
type model struct {
	t       *rapid.T
	service *fs.Service
	open    func() *fs.File
	files   map[int]*fs.File
	peers   map[int]*fs.Listener
	unread  map[int][]*asked // by listener
	asked   []*asked
	opened  int
	tags    int
}

// Whatever happens in whatever order, each question is settled exactly once, and
// as the model says.
func TestEachQuestionIsSettledExactlyOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(rt *rapid.T) {
			s := &fs.Service{Verbs: hookVerbs}
			c := client(t, newTree(&fs.Dir{Children: map[string]fs.Node{"s": s}}), owner)
			m := &model{
				t: rt, service: s, files: map[int]*fs.File{}, peers: map[int]*fs.Listener{}, unread: map[int][]*asked{},
				open: func() *fs.File {
					f, err := c.Open(t.Context(), "s", fs.Read|fs.Write)
					ok(t, err)
					return f
				},
			}
			defer m.end()
			steps := []func(){m.join, m.ask, m.ask, m.read, m.read, m.answer, m.answer, m.answerWrongly, m.cancel, m.leave}
			for range rapid.IntRange(1, 60).Draw(rt, "steps") {
				rapid.SampledFrom(steps).Draw(rt, "step")()
				synctest.Wait()
				m.check()
			}
			for len(m.files) > 0 {
				m.leave()
			}
			synctest.Wait()
			m.check()
		})
	})
}

// end leaves nothing in progress, also after a failure.
func (m *model) end() {
	for _, q := range m.asked {
		q.cancel()
	}
	synctest.Wait()
}

// bubble is a test that rapid does not ask for its deadline: in a bubble there is
// none to ask for.
type bubble struct{ *testing.T }

func (m *model) join() {
	m.opened++
	m.files[m.opened] = m.open()
	list := m.service.Listeners()
	m.peers[m.opened] = list[len(list)-1]
}

// some draws one of the listeners that have the file open.
func (m *model) some() (int, bool) {
	var ids []int
	for id := range m.opened {
		if m.files[id+1] != nil {
			ids = append(ids, id+1)
		}
	}
	if len(ids) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(ids).Draw(m.t, "listener"), true
}

func (m *model) ask() {
	id, any := m.some()
	if !any {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.tags++
	q := &asked{tag: m.tags, by: id, cancel: cancel, done: make(chan answered, 2)}
	m.asked = append(m.asked, q)
	m.unread[id] = append(m.unread[id], q)
	l := m.peers[id]
	go func() {
		r, err := l.Ask(ctx, fs.Question{Line: json.RawMessage(`{}`)})
		q.done <- answered{r, err}
	}()
}

func (m *model) read() {
	id, any := m.some()
	if !any || len(m.unread[id]) == 0 {
		return
	}
	q := m.unread[id][0]
	m.unread[id] = m.unread[id][1:]
	p := make([]byte, 100)
	n, err := m.files[id].Read(p)
	if want := fmt.Sprintf("%d {}\n", q.tag); err != nil || string(p[:n]) != want {
		m.t.Fatalf("listener %d read %q, %v; want %q", id, p[:n], err, want)
	}
}

// answer answers some question, held or settled, read or not, from some
// listener, its own or not.
func (m *model) answer() {
	id, any := m.some()
	if !any || len(m.asked) == 0 {
		return
	}
	q := rapid.SampledFrom(m.asked).Draw(m.t, "question")
	verb := rapid.SampledFrom([]string{"allow", "deny"}).Draw(m.t, "verb")
	err := say(m.files[id], "%d %s\n", q.tag, verb)
	if q.by != id || q.want != nil {
		if !errors.Is(err, fs.Invalid) {
			m.t.Fatalf("answering %d: %v", q.tag, err)
		}
		return
	}
	if err != nil {
		m.t.Fatalf("answering %d: %v", q.tag, err)
	}
	m.settle(q, errNone)
	q.verb = verb
}

func (m *model) answerWrongly() {
	id, any := m.some()
	if !any || len(m.asked) == 0 {
		return
	}
	q := rapid.SampledFrom(m.asked).Draw(m.t, "question")
	if err := say(m.files[id], "%d replace {\n", q.tag); !errors.Is(err, fs.Invalid) {
		m.t.Fatalf("a wrong answer: %v", err)
	}
}

func (m *model) cancel() {
	if len(m.asked) == 0 {
		return
	}
	q := rapid.SampledFrom(m.asked).Draw(m.t, "question")
	q.cancel()
	if q.want == nil {
		m.settle(q, fs.Interrupted)
	}
}

func (m *model) leave() {
	id, any := m.some()
	if !any {
		return
	}
	if err := m.files[id].Close(); err != nil {
		m.t.Fatal(err)
	}
	delete(m.files, id)
	for _, q := range m.asked {
		if q.by == id && q.want == nil {
			m.settle(q, fs.ErrGone)
		}
	}
}

// settle notes how q must end, and takes it from what there is to read.
func (m *model) settle(q *asked, how error) {
	q.want = how
	var left []*asked
	for _, x := range m.unread[q.by] {
		if x != q {
			left = append(left, x)
		}
	}
	m.unread[q.by] = left
}

// check compares what has ended with what must have.
func (m *model) check() {
	for _, q := range m.asked {
		if q.settled {
			if len(q.done) > 0 {
				m.t.Fatalf("question %d is settled again", q.tag)
			}
			continue
		}
		select {
		case r := <-q.done:
			switch {
			case q.want == nil:
				m.t.Fatalf("question %d has ended: %+v", q.tag, r)
			case q.want == errNone && (r.err != nil || r.Verb != q.verb),
				q.want != errNone && !errors.Is(r.err, q.want):
				m.t.Fatalf("question %d ended with %+v; want %v %s", q.tag, r, q.want, q.verb)
			}
			q.settled = true
			q.cancel()
		default:
			if q.want != nil {
				m.t.Fatalf("question %d has not ended; want %v", q.tag, q.want)
			}
		}
	}
}
