package models

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"mikan/wire"
)

// fileLimit is far beyond what a person writes.
const fileLimit = 4 << 20

// readFile reads a regular file of the state directory; absent, it is empty.
// Nothing is waited for.
func readFile(name string) ([]byte, os.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read the model settings: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("read the model settings: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, fileLimit+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read the model settings: %w", err)
	case len(data) > fileLimit:
		return nil, nil, fmt.Errorf("%s is larger than %d MiB", name, fileLimit>>20)
	}
	return data, info, nil
}

// complain makes the error for the value at a path in a file that is valid JSON.
func complain(file string, data []byte, text string, path ...string) error {
	return &wire.JSONError{File: file, Line: lineOf(data, path...), Text: text}
}

// lineOf is the line of the value at a path of keys and indices, or of as much
// of the path as there is.
func lineOf(data []byte, path ...string) int {
	d := json.NewDecoder(bytes.NewReader(data))
	for _, step := range path {
		if !enter(d, step) {
			break
		}
	}
	at := int(d.InputOffset())
	for at < len(data) && bytes.IndexByte([]byte(" \t\r\n,:"), data[at]) >= 0 {
		at++
	}
	return 1 + bytes.Count(data[:at], []byte("\n"))
}

// enter moves d before the value of a key or index.
func enter(d *json.Decoder, step string) bool {
	open, err := d.Token()
	if err != nil {
		return false
	}
	for i := 0; d.More(); i++ {
		key := json.Token(strconv.Itoa(i))
		if open == json.Delim('{') {
			if key, err = d.Token(); err != nil {
				return false
			}
		}
		if key == step {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
