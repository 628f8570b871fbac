package harness

import (
	"context"
	"fmt"
	"strings"

	"mikan/wire"
)

// maxForeignImages is how many images a result of a foreign tool may have.
const maxForeignImages = 8

// Foreign makes fit for a model what a tool has given that is not ours. Its text
// is cut to the limits of a result, and the whole is then in a file on c that
// the cut names, below .mikan/<kind>-output.
func Foreign(ctx context.Context, c Computer, kind string, parts []wire.Part) []wire.Part {
	var texts []string
	var rest []wire.Part
	for _, p := range parts {
		switch {
		case p.Type == wire.Text:
			texts = append(texts, clean([]byte(p.Text)))
		case p.Type == wire.Image && len(rest) >= maxForeignImages:
			texts = append(texts, fmt.Sprintf("[an image was left out: a result has at most %d]", maxForeignImages))
		case p.Type == wire.Image:
			rest = append(rest, p)
		}
	}
	if text := Bounded(ctx, c, kind+"-output", strings.Join(texts, "\n")); text != "" {
		rest = append([]wire.Part{wire.TextPart(text)}, rest...)
	}
	return rest
}
