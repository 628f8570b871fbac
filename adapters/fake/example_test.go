package fake_test

import (
	"fmt"

	"mikan/adapters/fake"
	"mikan/wire"
)

// A person writes, the bot answers in the thread, and the person changes his
// mind.
func ExampleBus() {
	bus := fake.NewBus()
	ts := bus.Say(wire.InMessage{Conversation: "C1", User: "ann", Text: "hello"})
	bus.Do(wire.OpRequest{Op: "post", Conversation: "C1", Thread: ts, Text: "hello, ann", Key: "1"})
	bus.Edit("C1", ts, "good evening")
	for _, m := range bus.Transcript("C1") {
		fmt.Println(m.User, m.Thread, m.Text)
	}
	// Output:
	// ann  good evening
	// bot 1700000001.000001 hello, ann
}
