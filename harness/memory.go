package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// maxMemory is how much of a MEMORY.md goes into the prompt.
const maxMemory = 64 << 10

// Memory returns the text of MEMORY.md in the host directory dir, which the
// agent writes, and a note for the operator if not all of it could be read. An
// absent file is an empty memory.
func Memory(dir string) (text, note string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", missingIsFine(err)
	}
	defer root.Close()
	data, more, err := readRegular(root, memoryFile, maxMemory)
	if err != nil {
		return "", missingIsFine(err)
	}
	text = strings.TrimSpace(clean(data))
	if more {
		note = fmt.Sprintf("MEMORY.md in %s is larger than %s; only its beginning is used", dir, size(maxMemory))
		if end := strings.LastIndexByte(text, '\n'); end > 0 {
			text = text[:end]
		}
		text += fmt.Sprintf("\n[The file is larger than %s; the rest is left out here. Make it shorter.]", size(maxMemory))
	}
	return text, note
}

// missingIsFine is err as a note, or nothing if it says that there is no file.
func missingIsFine(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return err.Error()
}
