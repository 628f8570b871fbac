package harness

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// output collects what a command writes: the end of either stream to be shown,
// and all of it, in the order of its arrival, in a file if it is too long for
// that. Its memory is bounded by a few times [maxBytes].
type output struct {
	mu     sync.Mutex // over both streams; held while the file is written, which keeps its order
	stdout tail
	stderr tail
	all    spill
	news   []byte // not reported yet; its end, if there is much
}

// writer returns where the stream that ends in t is written to. It is for one
// goroutine; its flush comes after the last Write.
func (o *output) writer(t *tail) *runes {
	return &runes{to: func(b []byte) {
		o.mu.Lock()
		defer o.mu.Unlock()
		t.add(b)
		o.all.add(b)
		o.news = append(o.news, b[max(0, len(b)-maxNews):]...)
		if len(o.news) > 2*maxNews {
			o.news = append(o.news[:0], o.news[len(o.news)-maxNews:]...)
		}
	}}
}

// maxNews is how much of the output one report of progress holds.
const maxNews = 4 * 1024

// unreported returns the end of what has come since the last call.
func (o *output) unreported() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := clean(o.news[max(0, len(o.news)-maxNews):])
	o.news = o.news[:0]
	return s
}

// text returns the output as the model sees it, standard output first, and
// whether there was any. It ends the collecting.
func (o *output) text() (text string, some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	defer o.all.discard()
	joined := strings.TrimSuffix(clean(o.stdout.bytes()), "\n")
	if o.stderr.size > 0 {
		if o.stdout.size > 0 {
			joined += "\n"
		}
		joined += strings.TrimSuffix(clean(o.stderr.bytes()), "\n")
	}
	if strings.TrimSpace(joined) == "" && !o.stdout.cut && !o.stderr.cut {
		return "(no output)", false
	}
	shown, partial := tailOf(joined)
	if len(shown) == len(joined) && !o.stdout.cut && !o.stderr.cut {
		return joined, true
	}
	return shown + "\n\n" + o.notice(shown, partial), true
}

// notice says which part of the output is shown and where all of it is.
func (o *output) notice(shown string, partial bool) string {
	total := o.stdout.lines() + o.stderr.lines()
	if partial {
		return fmt.Sprintf("[The last %s of line %d, the last one. %s]", size(len(shown)), total, o.all.keep())
	}
	first := total - strings.Count(shown, "\n")
	return fmt.Sprintf("[Lines %d-%d of %d. %s]", first, total, total, o.all.keep())
}

// tail keeps the end of a stream, at least its last [maxBytes] bytes.
type tail struct {
	kept     []byte
	cut      bool // something before kept was dropped
	size     int64
	newlines int
}

func (t *tail) add(b []byte) {
	t.size += int64(len(b))
	t.newlines += bytes.Count(b, []byte("\n"))
	if len(b) > maxBytes {
		t.cut = true
		t.kept, b = t.kept[:0], b[len(b)-maxBytes:]
	}
	if over := len(t.kept) + len(b) - 2*maxBytes; over > 0 {
		t.cut = true
		t.kept = append(t.kept[:0], t.kept[min(len(t.kept), max(over, len(t.kept)-maxBytes)):]...)
	}
	t.kept = append(t.kept, b...)
}

// bytes returns what is kept, which does not begin within a rune.
func (t *tail) bytes() []byte {
	b := t.kept
	for t.cut && len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

// lines is how many lines the whole stream has.
func (t *tail) lines() int {
	if n := len(t.kept); n > 0 && t.kept[n-1] != '\n' {
		return t.newlines + 1
	}
	return t.newlines
}

// runes passes what is written to it on in whole runes, however it was split.
type runes struct {
	rest []byte
	to   func([]byte)
}

// Write never fails.
func (r *runes) Write(p []byte) (int, error) {
	b := p
	if len(r.rest) > 0 {
		b = append(r.rest, p...)
	}
	n := len(b) - torn(b)
	if n > 0 {
		r.to(b[:n])
	}
	r.rest = append([]byte(nil), b[n:]...)
	return len(p), nil
}

// flush passes on a rune that was never finished.
func (r *runes) flush() {
	if len(r.rest) > 0 {
		r.to(r.rest)
		r.rest = nil
	}
}

// torn is how many bytes at the end of b begin a rune that is not finished.
func torn(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if end := b[len(b)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// maxSpill is how much of an output is kept in a file.
const maxSpill = 64 << 20

// spill is a file with the whole output. It is made when the output is longer
// than [maxBytes], or when keep is called.
type spill struct {
	ctx      context.Context
	computer Computer
	name     string

	head []byte // until there is a file
	file Staged
	size int64
	over bool // than maxSpill
	err  error
}

func (s *spill) add(b []byte) {
	if s.file == nil && s.err == nil && len(s.head)+len(b) <= maxBytes {
		s.head = append(s.head, b...)
		return
	}
	s.open()
	s.write(b)
}

// open makes the file, if there is none, and writes the head to it. The output
// of a command that was stopped is worth keeping, so it does not heed that.
func (s *spill) open() {
	if s.file != nil || s.err != nil {
		return
	}
	s.file, s.err = s.computer.Create(context.WithoutCancel(s.ctx), s.name)
	s.write(s.head)
	s.head = nil
}

func (s *spill) write(b []byte) {
	if left := maxSpill - s.size; int64(len(b)) > left {
		s.over = true
		b = b[:left]
	}
	if s.err != nil || len(b) == 0 {
		return
	}
	_, s.err = s.file.Write(b)
	s.size += int64(len(b))
}

// keep puts the file in its place and says where that is.
func (s *spill) keep() string {
	s.open()
	if s.err == nil {
		s.err = s.file.Commit()
	}
	switch {
	case s.err != nil:
		return fmt.Sprintf("The full output could not be saved: %v", s.err)
	case s.over:
		return fmt.Sprintf("The first %s of the output: %s", size(s.size), s.name)
	}
	return "Full output: " + s.name
}

// discard drops the file, unless it was kept.
func (s *spill) discard() {
	if s.file != nil {
		s.file.Discard()
	}
}
