package harness

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
)

// memoryFile is what the notes of an office, and of all offices, are called.
const memoryFile = "MEMORY.md"

// maxBlank is how long a memory may be that holds nothing but white space.
const maxBlank = 4 << 10

// spare refuses to replace a memory that holds something as a whole. Several
// runs may write it at the same time, sessions as well as subagents, and none
// knows what another has added since it looked. An edit is safe: it changes what
// is there now, and fails if that is not what the run believes.
func spare(ctx context.Context, c Computer, name string) error {
	if path.Base(name) != memoryFile {
		return nil
	}
	f, err := c.Open(ctx, name)
	if err != nil {
		return nil // there is none, or the write says itself what is wrong
	}
	defer f.Close()
	if data, err := io.ReadAll(io.LimitReader(f, maxBlank+1)); err == nil && len(data) <= maxBlank && len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	return fmt.Errorf("%s holds notes, and others may have added to them; write would lose those. Read it and change it with edit: "+
		"to add a line, replace the last one with itself and the new one; to write it all anew, give its whole text as oldText", name)
}
