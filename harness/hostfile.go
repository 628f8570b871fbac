package harness

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// readRegular reads a file below root, at most limit bytes of it, and says
// whether there were more. The agent can write there: a link is not followed,
// and what is not a regular file is an error at once, even if it is exchanged
// while it is looked at.
func readRegular(root *os.Root, name string, limit int) (data []byte, more bool, err error) {
	was, err := root.Lstat(name)
	if err != nil {
		return nil, false, err
	}
	if !was.Mode().IsRegular() {
		return nil, false, fmt.Errorf("read %s: not a regular file (%s)", name, kind(was.Mode()))
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !os.SameFile(was, is) {
		return nil, false, fmt.Errorf("read %s: the file was exchanged while it was opened", name)
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > limit {
		return data[:limit], true, nil
	}
	return data, false, nil
}

// kind is what a person calls a file of mode m.
func kind(m os.FileMode) string {
	switch {
	case m&os.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&os.ModeNamedPipe != 0:
		return "a named pipe"
	case m&os.ModeSocket != 0:
		return "a socket"
	case m&os.ModeDevice != 0:
		return "a device"
	}
	return "neither file nor directory"
}
