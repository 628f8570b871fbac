package harness

import (
	"bytes"
	"context"
	"fmt"
	"path"

	"mikan/wire"
)

// Bounded is a text that came from elsewhere as a result may hold it: whole, or
// its beginning and the name of the file that has all of it, which stands in c
// below .mikan/dir.
func Bounded(ctx context.Context, c Computer, dir, text string) string {
	head, cut := headOf(text)
	if !cut {
		return text
	}
	if head == "" {
		head = text[:whole(text, maxBytes)]
	}
	all := spill{ctx: ctx, computer: c, name: spillName(c, dir, ".txt")}
	defer all.discard()
	all.add([]byte(text))
	return fmt.Sprintf("%s\n\n[The first %s of %s. %s]", head, size(len(head)), size(len(text)), all.keep())
}

// Keep writes data to a new file in c below .mikan/dir and returns its name.
func Keep(ctx context.Context, c Computer, dir, ext string, data []byte) (name string, err error) {
	name = spillName(c, dir, ext)
	f, err := c.Create(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return name, f.Commit()
}

// Picture is an image that came from elsewhere as parts of a result. One that a
// provider would refuse, and with it the whole session, is an error.
func Picture(ctx context.Context, name string, data []byte) ([]wire.Part, error) {
	r, err := readImage(ctx, name, bytes.NewReader(data))
	return r.Content, err
}

func spillName(c Computer, dir, ext string) string {
	return path.Join(c.Dir(), ".mikan", dir, outputID()+ext)
}
