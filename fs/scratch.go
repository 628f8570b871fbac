package fs

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Editors and scripts do not write a file in place: they write another beside
// it and rename it over (sed -i, jq … > tmp && mv), or rename the old one away
// first (vim). So that this works on values, a [Dir] with Scratch set takes an
// unknown name as scratch: a small file in memory, unlisted, of its creator.
//
//   - Renamed over a value, scratch becomes its content, if the value takes it;
//     the error is the rename's, the old content and the scratch stay.
//   - A value that is renamed to a new name leaves a copy there as scratch. The
//     value itself stays, with its content, until something replaces it.
//   - Scratch is gone 60 s after its last close, and until then its directory
//     lives.
const (
	maxScratch   = 1 << 20 // bytes of a file
	maxScratches = 32      // files in a directory
	scratchAge   = 60 * time.Second
)

type scratch struct {
	mu       sync.Mutex
	data     []byte
	mode     FileMode
	uid, gid uint32
	version  uint32
	mtime    time.Time
	opens    int
	closed   time.Time // the last close, or the making
}

var (
	_ Opener   = (*scratch)(nil)
	_ Changer  = (*scratch)(nil)
	_ Replacer = (*scratch)(nil)
)

// expireLocked drops what is too old; d.mu is held.
func (d *Dir) expireLocked() {
	for name, s := range d.pad {
		if s.expired() {
			delete(d.pad, name)
		}
	}
}

// tidy drops what is too old, again and again while there is any.
func (d *Dir) tidy() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	if d.tidying = len(d.pad) > 0; d.tidying {
		time.AfterFunc(scratchAge, d.tidy)
	}
}

func (s *scratch) expired() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens == 0 && time.Since(s.closed) > scratchAge
}

// scratchFile returns the scratch of that name, or nil.
func (d *Dir) scratchFile(name string) *scratch {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	return d.pad[name]
}

func (d *Dir) dropScratch(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	_, ok := d.pad[name]
	delete(d.pad, name)
	return ok
}

// keepScratch puts s under name, in place of what scratch has that name.
func (d *Dir) keepScratch(name string, s *scratch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.expireLocked()
	if _, ok := d.pad[name]; !ok && len(d.pad) >= maxScratches {
		return Errorf(NoSpace, "%d scratch files are here already; remove some, or wait a minute", maxScratches)
	}
	if d.pad == nil {
		d.pad = map[string]*scratch{}
	}
	d.pad[name] = s
	if !d.tidying {
		d.tidying = true
		time.AfterFunc(scratchAge, d.tidy)
	}
	return nil
}

func (d *Dir) newScratch(who *Identity, name string, perm FileMode) (Node, error) {
	now := time.Now()
	s := &scratch{mode: perm.Perm(), uid: who.UID, gid: who.GID, mtime: now, closed: now}
	return s, d.keepScratch(name, s)
}

// renameScratch does the renames that scratch is there for.
func (d *Dir) renameScratch(ctx context.Context, who *Identity, name, newname string) error {
	s := d.scratchFile(name)
	if name == newname {
		return nil
	}
	target, err := d.known(ctx, newname)
	switch {
	case s == nil && errors.Is(err, NotExist):
		return d.backup(ctx, who, name, newname)
	case s == nil:
		return Errorf(Fixed, "%s cannot be renamed", name)
	}
	if errors.Is(err, NotExist) {
		target, err = d.coming(ctx, who, newname)
	}
	switch {
	case errors.Is(err, NotSupported):
		d.moveScratch(name, newname)
		return nil
	case err == nil:
		err = s.replace(ctx, who, target)
	}
	if err == nil {
		d.dropScratch(name)
	}
	return err
}

// moveScratch gives scratch another name, in place of what scratch has it.
func (d *Dir) moveScratch(name, newname string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.pad[name]; ok {
		d.pad[newname] = s
		delete(d.pad, name)
	}
}

// coming makes the file that scratch is renamed to, if the directory takes one
// of that name.
func (d *Dir) coming(ctx context.Context, who *Identity, name string) (Node, error) {
	if d.MakeFile == nil {
		return nil, NotSupported
	}
	return d.MakeFile(ctx, who, name)
}

// replace makes the content that of target.
func (s *scratch) replace(ctx context.Context, who *Identity, target Node) error {
	r, ok := target.(Replacer)
	if !ok {
		return Errorf(Fixed, "the file cannot be replaced; write to it")
	}
	return r.Replace(ctx, who, s.content())
}

// backup leaves a copy of the value name as scratch. It is no way round a
// rights list: who has one reads what it lets him read.
func (d *Dir) backup(ctx context.Context, who *Identity, name, newname string) error {
	n, err := d.known(ctx, name)
	if err != nil {
		return err
	}
	v, ok := n.(*Value)
	if !ok || who.Rights != nil {
		return Errorf(Fixed, "%s cannot be renamed", name)
	}
	info, err := v.StatFor(ctx, who)
	if err != nil {
		return err
	}
	data, mtime, err := v.get(ctx, who)
	if err != nil {
		return err
	}
	if len(data) > maxScratch {
		return scratchTooBig()
	}
	return d.keepScratch(newname, &scratch{
		data: slices.Clone(data), mode: info.Mode, mtime: mtime, closed: time.Now(),
	})
}
