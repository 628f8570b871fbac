package harness

import "mikan/wire"

// imageTokens is what an image costs, about, at the sizes that providers scale
// it down to.
const imageTokens = 1600

// Estimate is a rough count of the tokens that m takes in a model's window. It
// is meant to notice a full window, not to bill, and errs on the low side: where a
// server has counted, that holds, and what it refuses, it says. Reasoning, which most servers drop, does not count.
func Estimate(m wire.Message) int {
	tokens := 4 // what a provider puts around each message
	for _, p := range m.Content {
		if p.Type == wire.Image {
			tokens += imageTokens
			continue
		}
		tokens += roughTokens(len(p.Text) + len(p.Name) + len(p.Arguments))
	}
	return tokens
}

// roughTokens is the number of tokens in so many bytes of text.
func roughTokens(bytes int) int { return (bytes + 3) / 4 }
