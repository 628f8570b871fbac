package runtime_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"mikan/adapters/fake"
)

// Whatever goes wrong with a platform that can tell what it has done, each answer
// stands there once, and those of a conversation in order.
func TestLaw_each_answer_stands_there_once_and_in_order(t *testing.T) {
	faults := []fake.Fault{fake.Limit, fake.Refuse, fake.DropAck, fake.Die, fake.Silence}
	for range 5 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			l := newLab(t)
			l.outbox.Answer = 250 * time.Millisecond
			c := l.join(l.start(), "bus", fake.NewBus())
			want := map[string][]string{}
			troubles := 10 // fewer than a post is given up after
			for i := range 12 {
				for range min(random.IntN(3), troubles) {
					troubles--
					op := []string{"post", "post", "history"}[random.IntN(3)]
					c.bus.Trouble(fake.Trouble{Op: op, What: faults[random.IntN(len(faults))], Text: "no", After: time.Millisecond})
				}
				conversation := fmt.Sprint("C", random.IntN(2))
				c.say(conversation, fmt.Sprint(i))
				want[conversation] = append(want[conversation], fmt.Sprintf("demo: %d", i))
				if random.IntN(6) == 0 {
					eventually(t, "the messages", func() bool { return c.bus.Undelivered() == 0 })
					c.quietRuns()
					c = c.restart()
				}
			}
			for conversation, texts := range want {
				if got := c.answers(conversation, len(texts)); !slices.Equal(got, texts) {
					t.Errorf("%s: have %q, want %q", conversation, got, texts)
				}
			}
		})
	}
}
