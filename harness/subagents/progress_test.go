package subagents

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mikan/wire"
)

func TestProgressIsToldEveryTwoSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var at []time.Duration
		began := time.Now()
		r := newReporter([]step{{label: "a\nb: completed"}, {id: "b"}, {profile: "worker"}}, func(s string) {
			told, at = append(told, s), append(at, time.Since(began))
		})
		r.set(0, func(l *line) { l.status = Running })
		for range 50 {
			r.event(0, wire.Event{Type: wire.ToolCalled, Label: strings.Repeat("look ", 30)})
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
		}
		r.set(1, func(l *line) { l.status, l.reason = Failed, strings.Repeat("é", 300) })
		time.Sleep(time.Second)
		synctest.Wait()
		r.set(2, func(l *line) { l.status = Skipped })
		r.stop()
		time.Sleep(time.Minute)
		if len(at) != 4 || at[0] != 0 || at[1] != 2*time.Second || at[2] != 4*time.Second || at[3] != 6*time.Second {
			t.Fatalf("told at %v", at)
		}
		if told[0] != "a b: completed: running\nb: pending\nworker 3: pending\n" {
			t.Errorf("%q", told[0])
		}
		lines := strings.Split(told[3], "\n")
		if len([]rune(lines[0])) != len("a b: completed: running, ")+80 || len([]rune(lines[1])) != len("b: failed ()")+240 {
			t.Errorf("%q", told[3])
		}
	})
}
