package fake_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs"
	"mikan/wire"
)

// at is an adapter at work.
type at struct {
	*desk
	bus     *fake.Bus
	adapter *fake.Adapter
}

// each runs a test over each way that an adapter may come.
func each(t *testing.T, test func(t *testing.T, a at)) {
	for name, front := range fronts {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c := front(t, d)
			bus := fake.NewBus()
			adapter := &fake.Adapter{Platform: "test", Bus: bus}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- adapter.Run(ctx, c) }()
			test(t, at{d, bus, adapter})
			stop()
			<-done
			c.Close()
		})
	}
}

// listener waits for the adapter.
func (a at) listener() *fs.Listener {
	a.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if list := a.out.Listeners(); len(list) > 0 {
			return list[0]
		}
	}
	a.t.Fatal("no adapter")
	return nil
}

// ask puts an operation to the adapter.
func (a at) ask(r wire.OpRequest) (wire.OpAnswer, error) {
	a.t.Helper()
	whole, err := json.Marshal(r)
	if err != nil {
		a.t.Fatal(err)
	}
	reply, err := a.listener().Ask(context.Background(), fs.NewQuestion(whole, json.RawMessage(`{"op":"`+r.Op+`"}`)))
	if err != nil {
		return wire.OpAnswer{}, err
	}
	if reply.Verb == "error" {
		return wire.OpAnswer{}, wire.ParseOpError(reply.Text)
	}
	var answer wire.OpAnswer
	return answer, json.Unmarshal(reply.Content(), &answer)
}

func TestAdapter_carries_both_ways(t *testing.T) {
	each(t, func(t *testing.T, a at) {
		ts := a.bus.Say(wire.InMessage{Conversation: "C1", User: "ann", Text: "hello"})
		if m := <-a.in; m.TS != ts || m.ID == "" || m.UserName != "ann" || m.Text != "hello" {
			t.Errorf("message %+v", m)
		}
		long := strings.Repeat("long ", 1000)
		posted, err := a.ask(wire.OpRequest{Op: "post", Conversation: "C1", Text: long, Thread: ts, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if m := a.bus.Transcript("C1")[1]; m.TS != posted.TS || m.Text != long || m.Thread != ts || m.Key != "k" {
			t.Errorf("posted %.100v", m)
		}
		for _, r := range []wire.OpRequest{
			{Op: "update", TS: posted.TS, Text: "short"}, {Op: "react", TS: ts, Emoji: "eyes"}, {Op: "react", TS: ts, Emoji: "eyes"},
		} {
			r.Conversation = "C1"
			if _, err := a.ask(r); err != nil {
				t.Error(err)
			}
		}
		list := a.bus.Transcript("C1")
		if len(list[0].Reactions) != 1 || list[1].Text != "short" || list[1].Edits != 1 {
			t.Errorf("transcript %+v", list)
		}
		history, err := a.ask(wire.OpRequest{Op: "history", Conversation: "C1", Key: "k"})
		if err != nil || len(history.Messages) != 1 || history.Messages[0].TS != posted.TS {
			t.Errorf("history %+v, %v", history, err)
		}
	})
}

func TestAdapter_delivers_again_what_was_not_taken_for_now(t *testing.T) {
	each(t, func(t *testing.T, a at) {
		a.busy <- fs.Errorf(fs.Again, "later")
		a.busy <- fs.Errorf(fs.Invalid, "never")
		a.bus.Say(wire.InMessage{Conversation: "C1", User: "ann", Text: "one"})
		a.bus.Say(wire.InMessage{Conversation: "C1", User: "ann", Text: "two"})
		if m := <-a.in; m.Text != "two" { // one was put off, and then refused
			t.Errorf("message %+v", m)
		}
		if list := a.adapter.Refused(); len(list) != 1 || !errors.Is(list[0], fs.Invalid) {
			t.Errorf("refused %v", list)
		}
	})
}

func TestAdapter_gets_into_trouble(t *testing.T) {
	each(t, func(t *testing.T, a at) {
		post := wire.OpRequest{Op: "post", Conversation: "C1", Text: "x", Key: "k"}
		for _, x := range []struct {
			trouble fake.Trouble
			want    error
			done    int
		}{
			{fake.Trouble{What: fake.Limit, After: 35 * time.Second}, wire.OpError{Text: "rate limited", RetryAfter: 35 * time.Second}, 0},
			{fake.Trouble{What: fake.Final, Text: "no"}, wire.OpError{Text: "no", Final: true}, 0},
			{fake.Trouble{What: fake.Refuse, Text: "not now"}, wire.OpError{Text: "not now"}, 0},
			{fake.Trouble{What: fake.Die}, fs.ErrGone, 0},
			{fake.Trouble{What: fake.DropAck}, fs.ErrGone, 1},
		} {
			a.bus.Trouble(x.trouble)
			if _, err := a.ask(post); !errors.Is(err, x.want) {
				t.Errorf("%+v: %v, want %v", x.trouble, err, x.want)
			}
			if n := len(a.bus.Answers("C1")); n != x.done {
				t.Errorf("%+v: %d messages, want %d", x.trouble, n, x.done)
			}
		}
		if a.bus.Troubles() != 0 {
			t.Error("there is trouble left")
		}
	})
}
