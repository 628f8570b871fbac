package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mikan/adapters/fake"
	"mikan/fs/ninep"
	"mikan/wire"
)

// adapt keeps an adapter of bus at the desk of the platform bus, whichever daemon
// is there, until the test ends.
func (w *world) adapt(bus *fake.Bus) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	adapter := &fake.Adapter{Platform: "bus", Bus: bus}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if c, err := ninep.Dial(ctx, w.socket()); err == nil {
				_ = adapter.Run(ctx, c) // it ends with the daemon
				c.Close()
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	w.Cleanup(func() { stop(); <-done })
}

// until waits for something that the daemon does.
func (w *world) until(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(startLimit); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("%s: not within %v", what, startLimit)
		}
	}
}

// TestKill9_answers_each_message_of_a_platform_once kills the daemon at random
// moments while people write and the adapter gets into trouble.
func TestKill9_answers_each_message_of_a_platform_once(t *testing.T) {
	t.Parallel()
	rounds := 10
	if testing.Short() {
		rounds = 3
	}
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv(seedVar); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedVar, seed)
	random := rand.New(rand.NewPCG(seed, 2))

	w := newWorld(t)
	d := w.serve9P()
	w.must(`mikan mkdir platforms/bus`)
	bus := fake.NewBus()
	w.adapt(bus)
	asked := map[string]string{} // the text of a message, by its ts
	for range rounds {
		for range 4 {
			text := fmt.Sprintf("say n%d", len(asked))
			if random.IntN(3) == 0 {
				bus.Trouble(fake.Trouble{Op: "post", What: fake.DropAck})
			}
			asked[bus.Say(wire.InMessage{Conversation: fmt.Sprint("C", random.IntN(2)), User: "U1", Text: text})] = text
			time.Sleep(time.Duration(random.IntN(60)) * time.Millisecond) // the random moment
		}
		d.kill9()
		d = w.serve9P()
	}
	w.until("everything is taken in", func() bool { return bus.Undelivered() == 0 })
	defer func() {
		if t.Failed() {
			t.Logf("status\n%s%s\n%d of %d answered; log of C0\n%s", w.get("status"), w.get("platforms/bus/status"), len(bus.Answers("C0"))+len(bus.Answers("C1")), len(asked), w.get("offices/bus/C0/log"))
		}
	}()
	w.until("everything is answered", func() bool {
		return strings.Contains(w.get("status"), "running 0\n") && w.status("platforms/bus/status", "pending") == "0" &&
			len(bus.Answers("C0"))+len(bus.Answers("C1")) >= len(asked)
	})
	answered := map[string]string{}
	for _, m := range append(bus.Transcript("C0"), bus.Transcript("C1")...) {
		if m.User != "bot" {
			continue
		}
		if old, twice := answered[m.Thread]; twice {
			t.Errorf("%q is answered twice: %q and %q", asked[m.Thread], old, m.Text)
		}
		answered[m.Thread] = m.Text
		if !strings.HasPrefix(m.Text, "demo: "+asked[m.Thread]) && !strings.HasPrefix(m.Text, "interrupted: ") {
			t.Errorf("%q is answered %q", asked[m.Thread], m.Text)
		}
	}
	for ts, text := range asked {
		if answered[ts] == "" {
			t.Errorf("%q is not answered", text)
		}
	}
	if n := w.status("platforms/bus/status", "unknown"); n != "0" {
		t.Errorf("%s outcomes are unknown", n)
	}
}
