package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fstest"
	"mikan/fs/ninep"
	"mikan/fs/serve"
)

func TestMain(m *testing.M) { fstest.Main(m) }

var owner = &fs.Identity{Name: "owner", UID: 1000, GID: 1000}

// desk is a service, to be served by a client.
type desk struct {
	t    *testing.T
	call fs.Service
	tree *fs.Tree
	done chan error // how serving ended
}

// wait waits until serving has ended.
func (d *desk) wait() error { return <-d.done }

func newDesk(t *testing.T) *desk {
	d := &desk{t: t}
	bodies := &fs.Bodies{}
	d.call.Bodies = bodies
	root := &fs.Dir{Children: map[string]fs.Node{"desk": &fs.Dir{Children: map[string]fs.Node{"call": &d.call, fs.BodyDir: bodies}}}}
	d.tree = fs.NewTree(root, owner.UID, owner.GID)
	return d
}

// each runs a test over each way that a client may come.
func each(t *testing.T, test func(t *testing.T, d *desk, c *fs.Client)) {
	t.Run("in process", func(t *testing.T) {
		d := newDesk(t)
		c, err := d.tree.Client(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		test(t, d, c)
	})
	t.Run("9p", func(t *testing.T) {
		d := newDesk(t)
		here, there := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- (&ninep.Server{Tree: d.tree}).ServeConn(context.Background(), there, owner) }()
		c, err := ninep.NewClient(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		test(t, d, c)
		c.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// serve serves the desk's file beside the test; stop ends that.
func (d *desk) serve(c *fs.Client, h serve.Handler, opts serve.Options) (stop func() error) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	d.done = make(chan error, 1)
	go func() { d.done <- serve.File(ctx, c, "desk/call", h, opts) }()
	for len(d.call.Listeners()) == 0 {
		select {
		case err := <-d.done:
			d.t.Fatal(err)
		case <-time.After(time.Millisecond):
		}
	}
	return sync.OnceValue(func() error { cancel(); return d.wait() })
}

func (d *desk) ask(q fs.Question) (fs.Reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return d.call.Listeners()[0].Ask(ctx, q)
}

func line(v any) fs.Question {
	data, _ := json.Marshal(v)
	return fs.Question{Line: data}
}

// double answers a text with twice that.
func double(ctx context.Context, r *serve.Request) serve.Answer {
	content, err := r.Content(ctx)
	if err != nil {
		return serve.Error(err)
	}
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return serve.Error(err)
	}
	if text == "" {
		return serve.Error(errors.New("nothing\nto double"))
	}
	return serve.OK(text + text)
}

func TestRequestsAreHandledAndAnswered(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		stop := d.serve(c, double, serve.Options{})
		for i := range 3 {
			text := fmt.Sprint("x", i)
			r, err := d.ask(line(text))
			if err != nil || string(r.JSON) != `"`+text+text+`"` {
				t.Errorf("answer %+v, %v", r, err)
			}
		}
		if r, err := d.ask(line("")); err != nil || r.Verb != "error" || r.Text != "nothing to double" {
			t.Errorf("answer %+v, %v", r, err)
		}
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestWhatIsTooLongForALineGoesThroughTheBody(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		stop := d.serve(c, double, serve.Options{})
		defer stop()
		long := strings.Repeat("x", fs.MaxAnswerLine)
		whole, _ := json.Marshal(long)
		r, err := d.ask(fs.NewQuestion(whole, json.RawMessage(`{"long":true}`)))
		if err != nil || !r.BodyRead || string(r.Content()) != `"`+long+long+`"` {
			t.Errorf("%d bytes, %v", len(r.Content()), err)
		}
		failing := strings.Repeat("x", 2*fs.MaxAnswerLine)
		stop()
		stop = d.serve(c, func(context.Context, *serve.Request) serve.Answer {
			return serve.Error(errors.New(failing))
		}, serve.Options{})
		defer stop()
		for range 2 {
			if r, err := d.ask(line(1)); err != nil || len(r.Text) < fs.MaxAnswerLine-10 {
				t.Errorf("%d bytes, %v", len(r.Text), err)
			}
		}
	})
}

func TestAsManyRequestsAsWishedAreInProgress(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		const n = 3
		entered, leave := make(chan bool, 2*n), make(chan bool)
		stop := d.serve(c, func(context.Context, *serve.Request) serve.Answer {
			entered <- true
			<-leave
			return serve.OK(nil)
		}, serve.Options{Concurrency: n})
		answers := make(chan error, 2*n)
		for range 2 * n {
			go func() { _, err := d.ask(line(1)); answers <- err }()
		}
		for range n {
			<-entered
		}
		select {
		case <-entered:
			t.Error("one too many")
		case <-time.After(20 * time.Millisecond):
		}
		close(leave)
		for range 2 * n {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		stop()
	})
}

func TestServingEndsWithTheService(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		entered := make(chan bool, 1)
		d.serve(c, func(ctx context.Context, _ *serve.Request) serve.Answer {
			entered <- true
			<-ctx.Done() // a busy handler is told
			return serve.OK(nil)
		}, serve.Options{})
		asked := make(chan error, 1)
		go func() { _, err := d.ask(line(1)); asked <- err }()
		<-entered
		d.call.Close()
		if err := <-asked; !errors.Is(err, fs.ErrGone) {
			t.Error(err)
		}
		if err := d.wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestAnAnswerThatComesTooLateIsReportedAndHarmless(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		entered, late, refused := make(chan bool, 1), make(chan bool), make(chan error, 1)
		stop := d.serve(c, func(_ context.Context, r *serve.Request) serve.Answer {
			if string(r.JSON) == "1" {
				entered <- true
				<-late
			}
			return serve.OK(nil)
		}, serve.Options{Refused: func(_ *serve.Request, err error) { refused <- err }})
		defer stop()
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-entered; cancel() }()
		l := d.call.Listeners()[0]
		if _, err := l.Ask(ctx, line(1)); !errors.Is(err, fs.Interrupted) {
			t.Error(err)
		}
		close(late)
		if err := <-refused; !errors.Is(err, fs.Invalid) {
			t.Error(err)
		}
		if _, err := d.ask(line(2)); err != nil {
			t.Error(err)
		}
	})
}

// What was done is said, also by a client that is told to stop meanwhile.
func TestTheLastAnswerIsGivenBeforeTheEnd(t *testing.T) {
	each(t, func(t *testing.T, d *desk, c *fs.Client) {
		entered := make(chan bool)
		stop := d.serve(c, func(ctx context.Context, _ *serve.Request) serve.Answer {
			close(entered)
			<-ctx.Done()
			return serve.OK("done")
		}, serve.Options{})
		type answer struct {
			fs.Reply
			err error
		}
		asked := make(chan answer, 1)
		go func() { r, err := d.ask(line(1)); asked <- answer{r, err} }()
		<-entered
		if err := stop(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if a := <-asked; a.err != nil || string(a.JSON) != `"done"` {
			t.Errorf("answer %+v", a)
		}
	})
}

func TestAFileThatCannotBeOpenedIsAnError(t *testing.T) {
	each(t, func(t *testing.T, _ *desk, c *fs.Client) {
		err := serve.File(t.Context(), c, "desk/nothing", double, serve.Options{})
		if !errors.Is(err, fs.NotExist) {
			t.Error(err)
		}
	})
}

func TestALostConnectionIsNotTheEndOfTheService(t *testing.T) {
	d := newDesk(t)
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- (&ninep.Server{Tree: d.tree}).ServeConn(context.Background(), there, owner) }()
	c, err := ninep.NewClient(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stop := d.serve(c, func(context.Context, *serve.Request) serve.Answer { return serve.Allow() }, serve.Options{})
	there.Close()
	<-served
	if err := d.wait(); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("serving ended with %v", err)
	}
	d.done <- nil
	stop()
}
