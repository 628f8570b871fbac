package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFault_P4_aServerThatDoesNotAnswerKeepsNobodyWaiting(t *testing.T) {
	var servers []Config
	for _, name := range []string{"good", "silent", "deaf", "noise", "dies", "garbage"} {
		servers = append(servers, role(name))
	}
	l := newLab(t, Options{Wait: 2 * time.Second}, servers...)
	begun := time.Now()
	l.start()
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("a run would have waited for %v", took)
	}
	for name, want := range map[string]string{
		"good":    "connected, 8 tools",
		"garbage": "connected, 8 tools",
		"silent":  "starting",
		"deaf":    "starting",
		"noise":   "failed: it did not start: ",
		"dies":    "failed: it did not start: ",
	} {
		if got := l.status(name).String(); !strings.HasPrefix(got, want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := l.status("dies").Why; !strings.Contains(got, "it said: cannot go on") || !strings.Contains(got, "exit status 3") {
		t.Errorf("why it died: %s", got)
	}
	if names := l.names(); !slices.Contains(names, "mcp__garbage__echo") {
		t.Errorf("tools: %v", names)
	}
}

func TestFault_P4_aSilentServerFailsAfterItsTime(t *testing.T) {
	l := newLab(t, Options{Start: 100 * time.Millisecond}, role("silent"), role("deaf"))
	l.start()
	for _, name := range []string{"silent", "deaf"} {
		if got := l.status(name).String(); got != "failed: it did not start: it has not answered for 100ms; it said: [signal: terminated]" &&
			got != "failed: it did not start: it has not answered for 100ms" {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// A server that ignores what it does not know is met in the old way the next time.
func TestSet_aServerThatIgnoresTheNewHandshake(t *testing.T) {
	l := newLab(t, Options{Start: time.Second, Retry: time.Millisecond}, role("old"))
	l.start()
	if got := l.status("old").State; got != Failed {
		t.Fatalf("the first time it is %s", got)
	}
	eventually(t, func() bool { l.start(); return l.status("old").State == Connected })
}

// A run does not wait for a server for which another has waited in vain.
func TestFault_P4_aLateServerIsWaitedForOnce(t *testing.T) {
	l := newLab(t, Options{Wait: 300 * time.Millisecond}, role("silent"))
	l.start()
	begun := time.Now()
	for range 5 {
		l.start()
	}
	if took := time.Since(begun); took > 200*time.Millisecond {
		t.Errorf("five runs waited for %v", took)
	}
}

// eventually waits for something that has no event.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func TestFault_P4_theWholeGroupIsKilled(t *testing.T) {
	name, f := fifo(t)
	c := role("stubborn")
	c.Env["FIFO"] = name
	l := newLab(t, Options{}, c)
	l.start()
	if got := l.status("stubborn").State; got != Connected {
		t.Fatal(l.Status())
	}
	take(t, f, len("here\nhere\n")) // the server and its child
	begun := time.Now()
	l.Close()
	if took := time.Since(begun); took > closeGrace+termGrace+killGrace {
		t.Errorf("closing took %v", took)
	}
	take(t, f, -1) // nobody has it open any more
}

func TestFault_P4_aServerThatDiedIsStartedAgain(t *testing.T) {
	l := newLab(t, Options{Retry: time.Millisecond}, role("good"))
	l.start()
	_, err := l.call(ctx(t), "mcp__good__crash", `{"text":""}`, quiet)
	if err == nil || !strings.Contains(err.Error(), "it ended") {
		t.Errorf("the call that ended it: %v", err)
	}
	ended := l.servers[0]
	for ended.listed() != nil { // until the keeper has seen it
		ended.mu.Lock()
		news := ended.news
		ended.mu.Unlock()
		if ended.listed() != nil {
			<-news
		}
	}
	l.start()
	if r, err := l.call(ctx(t), "mcp__good__echo", `{"text":"again"}`, quiet); err != nil || said(r) != "again" {
		t.Errorf("%q, %v, %v", said(r), err, l.Status())
	}
}

func TestFault_P4_restartsBackOff(t *testing.T) {
	l := newLab(t, Options{Retry: time.Hour}, role("dies"))
	l.start()
	begun := time.Now()
	for range 3 {
		l.start()
	}
	if s := l.servers[0]; s.failures != 1 || time.Since(begun) > time.Second {
		t.Errorf("%d failures, waited for %v", s.failures, time.Since(begun))
	}
}

func TestFault_S3_noDiagnosticHoldsASecret(t *testing.T) {
	c := role("dies")
	c.Env["API_TOKEN"] = "canary-4711"
	web := Config{Name: "web", URL: "http://127.0.0.1:1/x?key=canary-4712", Headers: map[string]string{"Authorization": "Bearer canary-4713"}}
	l := newLab(t, Options{}, c, web)
	l.start()
	for _, s := range l.Status() {
		if s.State != Failed || strings.Contains(fmt.Sprint(s), "canary") {
			t.Error(s)
		}
	}
	if why := l.status("dies").Why; !strings.Contains(why, "[SECRET:API_TOKEN]") {
		t.Errorf("not even its name stands in %s", why)
	}
}

func TestSet_aCrowdOfWrongToolsIsBounded(t *testing.T) {
	l := newLab(t, Options{}, role("crowd"))
	l.start()
	s := l.status("crowd")
	if s.State != Connected || s.Tools != maxTools || len(s.Notes) == 0 {
		t.Fatal(s)
	}
	seen := map[string]bool{}
	for _, tool := range l.Tools(l.computer) {
		if seen[tool.Name] || len(tool.Name) > maxName || tool.Description == "" || len(tool.Description) > maxDescription || len(tool.Schema) > maxSchema {
			t.Errorf("%s is there twice or does not fit", tool.Name)
		}
		if seen[tool.Name] = true; !tool.Deferred {
			t.Fatalf("%s is told to the model with %d others", tool.Name, maxTools)
		}
	}
}

func TestSet_closedWhileItStartsAndTwice(t *testing.T) {
	l := newLab(t, Options{Wait: time.Millisecond}, role("silent"), role("deaf"), role("good"), Config{Name: "none", Command: "no-such-command"})
	l.start()
	l.Close()
	l.Close()
	l.start() // does nothing
	for _, s := range l.Status() {
		if s.State == Connected && len(l.Tools(l.computer)) > 0 {
			if _, err := l.call(ctx(t), "mcp__good__echo", `{"text":"x"}`, quiet); err == nil {
				t.Error("a closed set answers")
			}
		}
	}
}
