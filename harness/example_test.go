package harness_test

import (
	"context"
	"fmt"

	"mikan/harness"
	"mikan/harness/demo"
	"mikan/wire"
)

// memory is a session's history that ends with the process.
type memory struct{ msgs []wire.Message }

func (m *memory) Context(context.Context) ([]wire.Message, error) { return m.msgs, nil }

func (m *memory) Compact(_ context.Context, c harness.Compaction) error {
	summary := wire.SummaryMessage(wire.Entry{Summary: c.Summary})
	m.msgs = wire.Compacted(summary, m.msgs[len(m.msgs)-c.Keep:])
	return nil
}

func (m *memory) Append(_ context.Context, msgs ...wire.Message) error {
	m.msgs = append(m.msgs, msgs...)
	return nil
}

// A run needs a model, a provider that speaks to it, a store and a prompt. What
// the ending holds is the caller's to commit.
func ExampleRun_Do() {
	store := &memory{}
	run := harness.Run{
		Model:    demo.Model(),
		Provider: demo.Provider{},
		Store:    store,
		Prompt:   wire.Message{Role: wire.User, Content: []wire.Part{wire.TextPart("hello")}},
	}
	ending := run.Do(context.Background())
	if err := store.Append(context.Background(), ending.Final...); err != nil {
		fmt.Println(err)
	}
	fmt.Println(ending.Outcome)
	fmt.Println(store.msgs[1].PlainText())
	// Output:
	// ok
	// demo: hello
	//
	// (demo/echo is not a model: set ANTHROPIC_API_KEY, or write llm.provider and llm.model to settings.json)
}
