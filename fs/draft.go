package fs

import (
	"bytes"
	"context"
	"hash/fnv"
	"slices"
	"time"
)

const defaultMax = 1 << 20 // bytes of a value or a body

// draft is what an open file is writing and has not committed.
type draft struct {
	data  []byte
	max   int   // 0: defaultMax
	dirty bool  // there is something to commit
	cut   error // why something did not fit; what there is is not the writer's text

	account *account // nil: no limit
	taken   int      // of the account: the most that data was long
}

// charge makes d take its room from a.
func (d *draft) charge(a *account) error {
	if err := a.take(len(d.data)); err != nil {
		return err
	}
	d.account, d.taken = a, len(d.data)
	return nil
}

// start makes a copy of data what is to be changed.
func (d *draft) start(data []byte) error {
	if err := d.reserve(len(data)); err != nil {
		return err
	}
	d.data = bytes.Clone(data)
	return nil
}

// reset ends the draft and gives its room back.
func (d *draft) reset() {
	d.account.give(d.taken)
	*d = draft{max: d.max, account: d.account}
}

func (d *draft) limit() int {
	if d.max > 0 {
		return d.max
	}
	return defaultMax
}

// writeAt takes all of p or nothing. A gap is filled with zeros. After a write
// that did not fit nothing fits, and whole says so at the commit.
func (d *draft) writeAt(p []byte, off int64) (int, error) {
	if d.cut == nil && off > int64(d.limit()-len(p)) {
		d.cut = d.tooBig()
	}
	if d.cut == nil {
		d.cut = d.grow(int(off) + len(p))
	}
	if d.cut != nil {
		return 0, d.cut
	}
	copy(d.data[off:], p)
	d.dirty = true
	return len(p), nil
}

// due reports whether there is something to commit, or to complain about.
func (d *draft) due() bool { return d.dirty || d.cut != nil }

// whole reports whether the draft is all that was written.
func (d *draft) whole() error { return d.cut }

func (d *draft) append(p []byte) (int, error) {
	return d.writeAt(p, int64(len(d.data)))
}

// resize sets the length. To 0 it is the start of a write and nothing to
// commit: a shell truncates before it writes, and an empty file is no body.
func (d *draft) resize(size int64) error {
	if size > int64(d.limit()) {
		return d.tooBig()
	}
	if err := d.grow(int(size)); err != nil {
		return err
	}
	d.data = d.data[:size]
	d.dirty = size > 0
	if size == 0 {
		d.cut = nil
	}
	return nil
}

// grow makes the draft at least size long.
func (d *draft) grow(size int) error {
	if err := d.reserve(size); err != nil {
		return err
	}
	if old := len(d.data); size > old {
		d.data = slices.Grow(d.data, size-old)[:size]
		clear(d.data[old:])
	}
	return nil
}

// reserve takes the room for a draft of size from the account. What was cut off
// is not given back before the end: the memory is not, either.
func (d *draft) reserve(size int) error {
	if size <= d.taken {
		return nil
	}
	if err := d.account.take(size - d.taken); err != nil {
		return err
	}
	d.taken = size
	return nil
}

func (d *draft) tooBig() error {
	return Errorf(TooBig, "more than %d bytes; write less", d.limit())
}

// readAt copies what data has at off: a file's Read.
func readAt(data, p []byte, off int64) int {
	if off >= int64(len(data)) {
		return 0
	}
	return copy(p, data[off:])
}

// version makes a version number of what a file says and when it changed, for a
// node that is made anew for each walk and cannot count.
func version(data []byte, mtime time.Time) uint32 {
	h := fnv.New32a()
	h.Write(data)
	stamp, _ := mtime.MarshalBinary()
	h.Write(stamp)
	return h.Sum32()
}

// modeOr is mode's permission bits, or def if there are none.
func modeOr(mode, def FileMode) FileMode {
	if mode == 0 {
		return def
	}
	return mode.Perm()
}

// nobody is who looks when nobody is named: no owner, no group, not root.
var nobody = &Identity{Name: "nobody", UID: ^uint32(0), GID: ^uint32(0)}

// settled is the context of a commit. A signal that the writer's threads get
// must not end it half way.
func settled(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }
