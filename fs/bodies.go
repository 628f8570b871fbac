package fs

import (
	"context"
	"strconv"
	"sync"
	"time"
)

const maxDrafts = 4 // open files with uncommitted text, for one body

// Bodies is a directory, [BodyDir], beside service files: of each request that
// is not yet answered it has a file, named by the tag, for the listener that the
// request was put to and for nobody else. The file reads as the body of the
// request; what is written to it, whole, as to a [Value], is the body of the
// answer. It is gone with the answer.
//
// Tags are counted here, so that the requests of all services that share the
// directory have different ones. The directory is not listed, and lists nothing;
// one with a rights list for a service file may use the bodies of the requests
// that it holds. The zero value is ready for use.
type Bodies struct {
	mu   sync.Mutex // guards what follows, and the bodies
	last uint64     // tag given
	open map[uint64]*body
}

var (
	_ Directory = (*Bodies)(nil)
	_ Granter   = (*Bodies)(nil)
	_ Viewer    = (*body)(nil)
	_ Opener    = (*body)(nil)
	_ Granter   = (*body)(nil)
)

// Stat describes the directory: everyone may search it, and finds his own.
func (b *Bodies) Stat(context.Context) (Info, error) {
	return Info{Mode: 0o711 | ModeDir | ModeTemporary}, nil
}

// Lookup finds the body of the request tag.
func (b *Bodies) Lookup(_ context.Context, name string) (Node, error) {
	tag, err := strconv.ParseUint(name, 10, 64)
	if err != nil || strconv.FormatUint(tag, 10) != name {
		return nil, NotExist
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if body := b.open[tag]; body != nil {
		return body, nil
	}
	return nil, NotExist
}

// Names lists nothing.
func (b *Bodies) Names(context.Context) ([]string, error) { return nil, nil }

// Grants reports whether who holds a request.
func (b *Bodies) Grants(who *Identity) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, body := range b.open {
		if body.Grants(who) {
			return true
		}
	}
	return false
}

// add makes the body of a new request to holder, and with it the tag.
func (b *Bodies) add(holder *Identity, c content) (*body, error) {
	if c.len() > MaxRequestBody {
		return nil, Errorf(TooBig, "a body of %d bytes; it may have %d", c.len(), MaxRequestBody)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	if b.open == nil {
		b.open = map[uint64]*body{}
	}
	body := &body{dir: b, tag: b.last, holder: holder, content: c, changed: time.Now(), read: c.len() == 0}
	b.open[body.tag] = body
	return body, nil
}

// body is what belongs to one request. All but the first three fields are
// guarded by the directory's lock.
type body struct {
	dir    *Bodies
	tag    uint64
	holder *Identity

	content  content
	changed  time.Time
	version  uint32 // the number of replacements
	read     bool   // some of the request was read, or there is nothing to read
	settled  bool
	drafting int // handles with uncommitted text
}

// Grants reports whether who is the client that the request was put to: the same
// connection, if either has a rights list, else the same user.
func (b *body) Grants(who *Identity) bool {
	return who == b.holder || who.Rights == nil && b.holder.Rights == nil && who.UID == b.holder.UID
}

// Stat describes the body to nobody: it is not there.
func (b *body) Stat(ctx context.Context) (Info, error) { return b.StatFor(ctx, nobody) }

// StatFor describes the body to its holder.
func (b *body) StatFor(_ context.Context, who *Identity) (Info, error) {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	if b.settled || !b.Grants(who) {
		return Info{}, NotExist
	}
	return Info{
		Mode: 0o600, Size: b.content.len(), MTime: b.changed, Version: b.version,
		UID: b.holder.UID, GID: b.holder.GID,
	}, nil
}

// Open opens the body for its holder.
func (b *body) Open(_ context.Context, who *Identity, how Flags) (Handle, error) {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	if b.settled || !b.Grants(who) {
		return nil, NotExist
	}
	h := &bodyHandle{body: b, draft: draft{max: MaxAnswerBody}}
	if how&Truncate == 0 {
		h.saved, h.original = b.content, b.version == 0
	}
	return h, nil
}

// used says what the listener has done with the body so far.
func (b *body) used() (read, replaced bool) {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	return b.read, b.version > 0
}

// settle takes the body out of the tree. It gives what it was replaced by, nil if
// by nothing, and whether there was one and it was read.
func (b *body) settle() (replacement []byte, read bool) {
	b.dir.mu.Lock()
	defer b.dir.mu.Unlock()
	delete(b.dir.open, b.tag)
	if b.version > 0 {
		replacement = b.content.data
	}
	b.settled, b.content = true, content{}
	return replacement, b.read
}
