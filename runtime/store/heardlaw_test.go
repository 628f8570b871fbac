package store

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mikan/wire"
)

// The law of hearing: whatever is said, asked, answered, changed, forked and reset
// in whatever order, each run of a session is told, in order, exactly the lines
// that are for it and that it has not got, as a plain model keeps the books.
func TestLaw_each_line_reaches_a_session_once(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := newChatModel(t, rt)
		defer func() { c.db.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"say": func(rt *rapid.T) {
				c.say(rt, rapid.SampledFrom([]string{"line", "line", "/new ", " "}).Draw(rt, "text"), "")
			},
			"ask":     func(rt *rapid.T) { c.ask(rt) },
			"prompt":  func(rt *rapid.T) { c.prompt(rt) },
			"post":    func(rt *rapid.T) { c.post(rt) },
			"change":  func(rt *rapid.T) { c.change(rt) },
			"run":     func(rt *rapid.T) { c.run(rt) },
			"renew":   func(rt *rapid.T) { c.renew(rt) },
			"restart": func(rt *rapid.T) { c.restart() },
		})
	})
}

// chatModel is a store and what a person would say is in it.
type chatModel struct {
	t     rapid.TB
	db    *DB
	path  string
	n     int
	said  []*saying
	rooms map[string]*room // by the suffix of the session
}

// saying is one line of the chat.
type saying struct {
	ts, thread, text string             // there is no ts if it came by a file
	users            bool               // a person has said it
	silent           bool               // nobody is to hear it
	isAsked          bool               // it is a prompt
	asked            string             // the suffix of the session whose prompt it is
	prompt           int64              // that it is, or answers
	change           wire.MessageChange // it is another version
	of               *saying            // of this
	gone             bool               // and there is one after it
}

// room is a session.
type room struct {
	got     map[*saying]bool
	runs    map[int64]map[*saying]bool // what it had got at the end of each run
	floor   int                        // what was said before that is forgotten
	mark    int                        // what was said before that it has got, or need not get
	waiting []*saying
	over    int // how many of them overtake the others
	renew   bool
	used    bool
}

func newChatModel(t *testing.T, rt *rapid.T) *chatModel {
	path := filepath.Join(t.TempDir(), fmt.Sprint(time.Now().UnixNano()))
	db, err := Create(context.Background(), path)
	if err != nil {
		rt.Fatal(err)
	}
	return &chatModel{t: rt, db: db, path: path, rooms: map[string]*room{}}
}

func (c *chatModel) must(err error) {
	if err != nil {
		c.t.Fatalf("%v", err)
	}
}

func (c *chatModel) restart() {
	c.must(c.db.Close())
	db, err := Open(context.Background(), c.path)
	c.must(err)
	c.db = db
}

func (c *chatModel) room(suffix string) *room {
	if c.rooms[suffix] == nil {
		c.rooms[suffix] = &room{got: map[*saying]bool{}, runs: map[int64]map[*saying]bool{}}
	}
	return c.rooms[suffix]
}

// where is a place in the chat: outside of all threads, or below a message.
func (c *chatModel) where(rt *rapid.T) string {
	var roots []string
	for _, s := range c.said {
		if s.thread == "" && s.change == "" && s.ts != "" {
			roots = append(roots, s.ts)
		}
	}
	if len(roots) == 0 || rapid.Bool().Draw(rt, "outside") {
		return ""
	}
	return rapid.SampledFrom(roots[max(0, len(roots)-4):]).Draw(rt, "thread")
}

// say has a person say something, which asks for an answer if session says of
// which.
func (c *chatModel) say(rt *rapid.T, text, session string) *saying {
	c.n++
	s := &saying{ts: fmt.Sprint("m", c.n), thread: c.where(rt), text: fmt.Sprint(text, c.n), users: true, silent: text == "/new ", isAsked: session != ""}
	if text == " " {
		s.text, s.silent = text, true
	}
	if s.isAsked {
		s.asked = s.thread
	}
	c.arrive(s, "")
	return s
}

func (c *chatModel) arrive(s *saying, change wire.MessageChange) {
	m := wire.InMessage{ID: fmt.Sprint("d", c.n), TS: s.ts, Thread: s.thread, User: "U", Text: s.text, Change: change, Silent: !s.isAsked}
	a, err := c.db.Arrive(context.Background(), m, wire.SessionName(s.asked), "/", Prompt{Kind: KindPrompt, Actor: "x:U", Text: s.text, Source: s.ts, Thread: s.thread, Reply: s.thread, Accepted: time.Now()})
	c.must(err)
	c.said = append(c.said, s)
	if s.isAsked {
		s.prompt = a.Prompt.ID
		r := c.room(s.asked)
		r.waiting = append(r.waiting, s)
	}
}

func (c *chatModel) ask(rt *rapid.T) {
	c.say(rt, rapid.SampledFrom([]string{"prompt", "prompt", "/new "}).Draw(rt, "text"), "a session")
}

// prompt gives a session a prompt by a file, which may overtake others.
func (c *chatModel) prompt(rt *rapid.T) {
	suffix, r := c.some(rt, func(*room) bool { return true })
	if r == nil {
		return
	}
	c.n++
	s := &saying{thread: suffix, text: fmt.Sprint("file", c.n), users: true, isAsked: true, asked: suffix}
	row, err := c.db.Session(context.Background(), wire.SessionName(suffix))
	c.must(err)
	kind, at := KindPrompt, len(r.waiting)
	if rapid.Bool().Draw(rt, "overtakes") {
		kind, at = KindFollowup, r.over
		r.over++
	}
	p, _, err := c.db.Accept(context.Background(), Prompt{Session: row.ID, Kind: kind, Actor: "local:ann", Text: s.text, Accepted: time.Now()})
	c.must(err)
	s.prompt = p.ID
	c.said, r.waiting = append(c.said, s), slices.Insert(r.waiting, at, s)
}

func (c *chatModel) post(rt *rapid.T) {
	c.n++
	s := &saying{ts: fmt.Sprint("m", c.n), thread: c.where(rt), text: fmt.Sprint("post", c.n)}
	_, _, err := c.db.Said(context.Background(), s.ts, wire.Record{TS: s.ts, ThreadTS: s.thread, User: "bot", Text: s.text, IsBot: true}, time.Now())
	c.must(err)
	c.said = append(c.said, s)
}

func (c *chatModel) change(rt *rapid.T) {
	var all []*saying
	for _, s := range c.said {
		if s.users && s.ts != "" && !s.gone && s.change != wire.Deleted {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		return
	}
	old := rapid.SampledFrom(all).Draw(rt, "which")
	first := old
	if old.of != nil {
		first = old.of
	}
	c.n++
	s := &saying{ts: old.ts, thread: old.thread, text: fmt.Sprint("new", c.n), users: true, change: wire.Edited, of: first}
	if rapid.Bool().Draw(rt, "delete") {
		s.text, s.change = "", wire.Deleted
	}
	old.gone = true
	c.arrive(s, s.change)
}

func (c *chatModel) renew(rt *rapid.T) {
	suffix, r := c.some(rt, func(*room) bool { return true })
	if r == nil {
		return
	}
	s, err := c.db.Session(context.Background(), wire.SessionName(suffix))
	c.must(err)
	c.must(c.db.Renew(context.Background(), s.ID))
	r.floor, r.mark, r.renew = len(c.said), len(c.said), true
}

func (c *chatModel) some(rt *rapid.T, ok func(*room) bool) (string, *room) {
	var list []string
	for _, suffix := range slices.Sorted(maps.Keys(c.rooms)) {
		if ok(c.rooms[suffix]) {
			list = append(list, suffix)
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	suffix := rapid.SampledFrom(list).Draw(rt, "session")
	return suffix, c.rooms[suffix]
}

// run runs the next prompt of a session, or fails to.
func (c *chatModel) run(rt *rapid.T) {
	suffix, r := c.some(rt, func(r *room) bool { return len(r.waiting) > 0 })
	if r == nil {
		return
	}
	ctx := context.Background()
	s, err := c.db.Session(ctx, wire.SessionName(suffix))
	c.must(err)
	p, ok, _, err := c.db.Next(ctx, s.ID, time.Now())
	c.must(err)
	asked := r.waiting[0]
	if !ok || p.ID != asked.prompt {
		c.t.Fatalf("the next prompt of %s is %+v", s.Name, p)
	}
	if r.renew {
		r.renew, r.used = false, true
	}
	if s, err = c.db.Session(ctx, s.Name); err != nil || s.Unused() == r.used {
		c.t.Fatalf("%s is used: %v, want %v; %v", s.Name, !s.Unused(), r.used, err)
	}
	if s.Unused() && !c.descend(s, suffix, r) {
		return // its parent has yet to settle
	}
	s, err = c.db.Session(ctx, s.Name)
	c.must(err)
	u, err := c.db.Unheard(ctx, s, time.Now())
	c.must(err)
	want := c.unheard(suffix, r)
	var have, texts []string
	for _, l := range u.Lines {
		have = append(have, l.Text)
	}
	for _, s := range want {
		texts = append(texts, s.text)
	}
	if !slices.Equal(have, texts) {
		c.t.Fatalf("%s hears %q, want %q", s.Name, have, texts)
	}
	c.end(rt, s, r, p, want, u.Upto)
}

// end commits a run, or has it fail, or crash before it has begun.
func (c *chatModel) end(rt *rapid.T, s Session, r *room, p Prompt, heard []*saying, upto int64) {
	ctx := context.Background()
	how := rapid.SampledFrom([]string{"ok", "ok", "ok", "fails", "is refused", "is stopped", "crashes"}).Draw(rt, "run")
	if how == "crashes" {
		c.restart()
		return
	}
	asked := r.waiting[0]
	r.waiting, r.over = r.waiting[1:], max(0, r.over-1)
	set := Settlement{Run: p.ID, Session: s.ID, Outcome: wire.Failed, Key: fmt.Sprint("p", p.ID), Refused: how == "is refused"}
	if how == "ok" {
		c.must(c.db.Begin(ctx, p.ID, []Prompt{p}, []wire.Message{user(p.Text)}, Told{Heard: upto}, time.Now()))
		set.Outcome, r.used, r.got[asked] = wire.OK, true, true
		r.mark = max(r.mark, c.bound(r, asked))
		for _, l := range heard {
			r.got[l] = true
		}
	} else if how != "fails" {
		asked.silent = true
	}
	if how == "is stopped" {
		set.Outcome = wire.Stopped
	}
	c.n++
	a := &saying{thread: asked.thread, text: fmt.Sprint("answer", c.n), silent: how != "ok", prompt: p.ID}
	set.Text, set.Post = a.text, a.text
	_, err := c.db.Settle(ctx, set, time.Now())
	c.must(err)
	if p.Source != "" {
		a.ts = fmt.Sprint("m", c.n)
		post, _, err := c.db.NextPost(ctx)
		c.must(err)
		post.TS, post.State = a.ts, PostDone
		_, err = c.db.FinishPost(ctx, post, time.Now())
		c.must(err)
	}
	c.said = append(c.said, a)
	if how == "ok" {
		r.got[a] = true
		r.runs[p.ID] = maps.Clone(r.got)
	}
}

// descend has a session that is used for the first time go on from its parent's
// run. It reports false if that has not settled.
func (c *chatModel) descend(s Session, suffix string, r *room) bool {
	ctx := context.Background()
	root, ok, err := c.db.Root(ctx, s)
	c.must(err)
	var want *saying
	for _, x := range c.said {
		if suffix != "" && x.ts == suffix && x.change == "" && x.prompt != 0 {
			want = x
		}
	}
	if ok != (want != nil) || ok && root.ID != want.prompt {
		c.t.Fatalf("the root of %s is %+v, want %+v", s.Name, root, want)
	}
	if !ok {
		return true
	}
	if root.State != Done {
		return false
	}
	c.must(c.db.Descend(ctx, s.ID, root, time.Now()))
	for _, other := range c.rooms {
		if had, ok := other.runs[root.ID]; ok {
			r.used, r.mark = true, slices.Index(c.said, want)+1
			maps.Copy(r.got, had)
		}
	}
	return true
}

// unheard is what a session is to hear.
func (c *chatModel) unheard(suffix string, r *room) []*saying {
	var list []*saying
	for i, s := range c.said {
		switch {
		case i < r.floor, i >= c.bound(r):
		case s.silent, s.gone, r.got[s], s.thread != suffix && (suffix == "" || s.ts != suffix):
		case s.of != nil && s.of.silent && s.of.prompt != 0: // it was refused, or is a command
		case s.change == wire.Deleted && !c.knows(r, s):
		case i >= r.mark:
			list = append(list, s)
		case s.change != wire.Deleted:
			c.t.Fatalf("%q has never reached it", s.text)
		}
	}
	return list
}

// knows reports whether a session may know of something that is gone.
func (c *chatModel) knows(r *room, gone *saying) bool {
	for i, s := range c.said {
		if s.ts == gone.ts && !s.silent && (i < r.mark || r.got[s]) {
			return true
		}
	}
	return false
}

// bound is where the first prompt stands that waits.
func (c *chatModel) bound(r *room, more ...*saying) int {
	return slices.IndexFunc(c.said, func(s *saying) bool { return slices.Contains(r.waiting, s) || slices.Contains(more, s) })
}
