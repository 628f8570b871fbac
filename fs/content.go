package fs

import (
	"errors"
	"io"
	"os"
)

// content is what a body holds: bytes, or a file. It is replaced, and not
// modified.
type content struct {
	data []byte
	file *os.File // instead of data; closed when its question is settled
	size int64    // of file
}

// content is q's body, and whether it has one.
func (q Question) content() (c content, has bool, err error) {
	if q.File == nil {
		return content{data: q.Body}, q.Body != nil, nil
	}
	info, err := q.File.Stat()
	if err != nil {
		return c, true, err
	}
	return content{file: q.File, size: info.Size()}, true, nil
}

func (c content) len() int64 {
	if c.file != nil {
		return c.size
	}
	return int64(len(c.data))
}

// readAt is a file's Read.
func (c content) readAt(p []byte, off int64) (int, error) {
	if c.file == nil {
		return readAt(c.data, p, off), nil
	}
	n, err := c.file.ReadAt(p[:max(0, min(int64(len(p)), c.size-off))], off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// bytes are all of it.
func (c content) bytes() ([]byte, error) {
	if c.file == nil {
		return c.data, nil
	}
	data := make([]byte, c.size)
	n, err := c.readAt(data, 0)
	return data[:n], err
}
