package fs

import "bytes"

// lines puts lines together that are written in pieces. A line that grows over
// max is refused, and so is what follows it up to its newline: the tail of a
// long text must not pass for a line of its own.
type lines struct {
	max  int
	over error // what is said of a line that is too long

	part []byte // the start of a line
	long bool   // the line was too long; what is left of it is dropped
}

// write takes p and gives each line that is whole now, without its newline, to
// run. The first error ends the write: the rest of p is dropped.
func (l *lines) write(p []byte, run func(line []byte) error) error {
	for len(p) > 0 {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		if err := l.add(part, whole); err != nil {
			return err
		}
		if !whole {
			return nil
		}
		if err := l.flush(run); err != nil {
			return err
		}
		p = rest
	}
	return nil
}

func (l *lines) add(part []byte, whole bool) error {
	if !l.long && len(l.part)+len(part) <= l.max {
		l.part = append(l.part, part...)
		return nil
	}
	l.part, l.long = nil, !whole
	return l.over
}

// flush gives what there is to run as a line, unless it is blank.
func (l *lines) flush(run func(line []byte) error) error {
	line := bytes.TrimSuffix(l.part, []byte("\r"))
	l.part, l.long = nil, false
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	return run(line)
}
