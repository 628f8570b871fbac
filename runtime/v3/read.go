package v3

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mikan/wire"
)

// ErrEmpty is returned for a file in which nothing was written.
var ErrEmpty = errors.New("the session file is empty")

// maxLine is the longest line that is read, in bytes.
const maxLine = 256 << 20

// Session is what a file holds.
type Session struct {
	Header   wire.Header
	Name     string
	Provider string // of the model in use; empty: none was chosen
	Model    string
	Thinking string // the level in use

	branch []*entry // in use, from its root
}

// entry is a line after the header.
type entry struct {
	wire.Entry
	Details json.RawMessage `json:"details"` // whatever an extension made of it
	Said    *said           `json:"message"`
	Kept    *int            `json:"firstKeptEntryIndex"` // of version 1

	line    int
	message wire.Message // what a model sees of it, if seen
	seen    bool
}

// Read reads a session file of version 1, 2 or 3.
func Read(r io.Reader) (*Session, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var p parser
	n := 1
	for ; lines.Scan(); n++ {
		if line := bytes.TrimSpace(lines.Bytes()); len(line) > 0 {
			if p.torn != nil { // it was not the last one
				return nil, p.torn
			}
			p.line(n, line)
		}
		if p.err != nil {
			return nil, p.err
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", n, err)
	}
	switch {
	case p.s == nil && p.torn != nil:
		return nil, p.torn
	case p.s == nil:
		return nil, ErrEmpty
	}
	return p.session()
}

// parser gathers a file's lines.
type parser struct {
	s    *Session
	list []*entry
	torn error // the last line cannot be read
	err  error
}

func (p *parser) line(n int, line []byte) {
	if p.s == nil {
		p.header(n, line)
		return
	}
	e := &entry{line: n}
	if err := json.Unmarshal(line, e); err != nil {
		p.torn = fmt.Errorf("line %d: %w", n, err)
		return
	}
	if err := p.take(e); err != nil {
		p.err = fmt.Errorf("line %d: %w", n, err)
	}
}

func (p *parser) header(n int, line []byte) {
	h := wire.Header{Version: 1}
	err := json.Unmarshal(line, &h)
	switch {
	case err != nil:
		p.torn = fmt.Errorf("line %d: the header: %w", n, err)
	case h.Type != "session" || h.ID == "":
		p.err = fmt.Errorf("line %d: not the header of a session", n)
	case h.Version < 1 || h.Version > wire.TranscriptVersion:
		p.err = fmt.Errorf("line %d: version %d of the format is not known, only 1 to %d", n, h.Version, wire.TranscriptVersion)
	default:
		p.s = &Session{Header: h}
	}
}

// take adds an entry. Those of version 1 have no ids: each comes after the one
// before.
func (p *parser) take(e *entry) error {
	if p.s.Header.Version == 1 {
		e.ID, e.ParentID = fmt.Sprintf("%08x", len(p.list)+1), nil
		if n := len(p.list); n > 0 {
			e.ParentID = &p.list[n-1].ID
		}
		if e.Kept != nil {
			e.FirstKept = fmt.Sprintf("%08x", *e.Kept) // the header is number 0
		}
	}
	if e.Type == "" || e.ID == "" {
		return errors.New("an entry without a type or an id")
	}
	if err := e.see(); err != nil {
		return err
	}
	p.list = append(p.list, e)
	return nil
}

// session finds the branch in use and what holds at its end.
func (p *parser) session() (*Session, error) {
	byID := map[string]*entry{} // of two with the same id the later one counts
	var leaf *entry
	for _, e := range p.list {
		byID[e.ID] = e
		switch e.Type {
		case wire.EntryInfo:
			p.s.Name = e.Name
		case wire.EntryLabel:
		default:
			leaf = e
		}
	}
	on := map[*entry]bool{}
	for e := leaf; e != nil; {
		if on[e] {
			return nil, fmt.Errorf("line %d: the entry %s is its own ancestor", e.line, e.ID)
		}
		on[e] = true
		p.s.branch = append(p.s.branch, e)
		if e.ParentID == nil {
			break
		}
		e = byID[*e.ParentID]
	}
	p.s.settle()
	return p.s, nil
}
