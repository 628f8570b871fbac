package runtime_test

import (
	goruntime "runtime"
	"testing"
	"time"
	"weak"

	"mikan/runtime"
	"mikan/wire"
)

// gone waits until the garbage collector has taken c.
func gone(t *testing.T, c weak.Pointer[runtime.Conversation]) {
	t.Helper()
	for end := time.Now().Add(patience); c.Value() != nil; goruntime.GC() {
		if time.Now().After(end) {
			t.Fatal("an idle office that nobody uses is not let go")
		}
	}
}

func TestAnOfficeThatNobodyUsesIsLetGo(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := weak.Make(l.office(rt, "a"))
	gone(t, c)
	if _, _, err := l.office(rt, "a").Status(ctx(t)); err != nil {
		t.Error(err)
	}
}

// What is open of an office keeps it, so that no event and no question goes to
// another than those who listen.
func TestWhatIsOpenKeepsAnOffice(t *testing.T) {
	for name, open := range map[string]func(*runtime.Conversation) any{
		"feed": func(c *runtime.Conversation) any { return c.Feed() },
		"hook": func(c *runtime.Conversation) any { return c.Hooks().Services[wire.HookCall] },
		"tool": func(c *runtime.Conversation) any {
			tool, err := c.Tools().Make(ctx(t), "weather")
			if err != nil {
				t.Fatal(err)
			}
			return tool.Call
		},
		"session's feed": func(c *runtime.Conversation) any { return session(t, c, wire.MainSession).Feed() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			rt := l.start()
			c := l.office(rt, "a")
			held, was := open(c), weak.Make(c)
			c = nil
			for range 3 {
				goruntime.GC()
			}
			if was.Value() == nil {
				t.Error("the office is gone while its file is open")
			}
			goruntime.KeepAlive(held)
		})
	}
}

func TestAnOfficeThatWasBusyIsKeptUntilItIsSwept(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	c := l.office(rt, "a")
	answer(t, session(t, c, wire.MainSession), "hello")
	was := weak.Make(c)
	c = nil
	for range 3 {
		goruntime.GC()
	}
	if was.Value() == nil {
		t.Error("the office is gone, and its mark in the index with it stays")
	}
}
