package harness

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"
)

// excerpt is a run of whole lines of a file.
type excerpt struct {
	text  string // without the last line's end
	last  int    // the number of the last line in text; 0 if there is none
	long  int64  // the size of the first line, if that alone is too long to be shown
	total int    // lines counted
	all   bool   // total counts all lines of the file
}

// maxCount is how far into a file the lines are counted of which none will be
// shown.
const maxCount = 16 << 20

// readExcerpt reads lines from number offset on, at most limit, [maxLines] and
// [maxBytes] of them. It holds no more of the file than that in memory.
func readExcerpt(ctx context.Context, r *bufio.Reader, offset, limit int) (excerpt, error) {
	b := excerptBuilder{offset: offset, limit: min(limit, maxLines)}
	var line []byte
	var length, read int64
	for {
		piece, err := r.ReadSlice('\n')
		length, read = length+int64(len(piece)), read+int64(len(piece))
		if room := maxBytes + 2 - len(line); room > 0 {
			line = append(line, piece[:min(room, len(piece))]...)
		}
		switch {
		case ctx.Err() != nil:
			return excerpt{}, context.Cause(ctx)
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return excerpt{}, err
		}
		if length > 0 {
			b.add(line, length)
		}
		line, length = line[:0], 0
		if b.all = err == io.EOF; b.all || b.full && read > maxCount {
			b.excerpt.text = b.lines.String()
			return b.excerpt, nil
		}
	}
}

// excerptBuilder puts an excerpt together from the lines of a file.
type excerptBuilder struct {
	excerpt
	offset, limit int
	lines         strings.Builder
	full          bool
}

// add takes the next line of the file, with its end; line is its beginning if
// it is longer than could be shown.
func (b *excerptBuilder) add(line []byte, length int64) {
	b.total++
	if b.total == 1 {
		line = bytes.TrimPrefix(line, []byte(bom))
	}
	if b.total < b.offset || b.full {
		return
	}
	first := b.total == b.offset
	text := strings.ToValidUTF8(string(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))), "\uFFFD")
	switch {
	case first && len(text) > maxBytes:
		b.full, b.long = true, length
		return
	case b.total-b.offset == b.limit, !first && b.lines.Len()+1+len(text) > maxBytes:
		b.full = true
		return
	}
	if !first {
		b.lines.WriteByte('\n')
	}
	b.lines.WriteString(text)
	b.last = b.total
}
