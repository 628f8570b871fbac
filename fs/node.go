package fs

import (
	"context"
	iofs "io/fs"
	"time"
)

// Info describes a file: 9P's Stat, without what no one uses.
type Info struct {
	Name string
	// Mode is the permission bits and the type. Of the type bits these have a
	// meaning here: ModeDir, ModeSymlink (host directories only), ModeAppend
	// (9P's DMAPPEND: a log), ModeExclusive (DMEXCL), and ModeTemporary (DMTMP,
	// "not for backup"), which marks a conversational file: it may block, has
	// size 0 and no offsets, and is not listed. A directory with ModeTemporary is
	// like any other, but not listed.
	Mode    iofs.FileMode
	ID      uint64    // qid.path and inode number; 0: the Fid derives one from the path
	Version uint32    // qid.vers: another number after each change
	Size    int64     // in bytes; true, or 0 for a conversational file
	MTime   time.Time // zero: the tree's own
	UID     uint32    // filled in by the Fid where a node leaves both zero
	GID     uint32
	// Host says that the file is one of a [HostDir]: its size and offsets are true
	// and a Read gives all that was asked for up to the end, so that a mount can
	// keep it in the page cache and map it. 9P does not carry this.
	Host bool
}

// Stream reports whether the file is conversational: see [Info.Mode].
func (i Info) Stream() bool { return i.Mode&iofs.ModeTemporary != 0 }

// Flags say how a file is opened: one of Read, Write or both, and Truncate.
type Flags uint8

// The flags of an open.
const (
	Read     Flags = 1 << iota // the file will be read
	Write                      // the file will be written
	Truncate                   // 9P's OTRUNC; needs Write
)

// Node is a file in the tree. What else it can do, it says by implementing
// [Directory], [Opener], [Creator], [Remover], [Renamer], [Changer],
// [Replacer], [Viewer], [Granter] or [Linker]. What it does not implement is
// refused with Fixed or Permission.
//
// A node may be made anew for each walk; it keeps nothing that an open file
// needs later.
type Node interface {
	// Stat describes the node. Name may be left empty: the Fid knows it.
	Stat(ctx context.Context) (Info, error)
}

// Viewer is a node that looks different to different callers, as errstr does;
// the Fid prefers StatFor to Stat.
type Viewer interface {
	StatFor(ctx context.Context, who *Identity) (Info, error)
}

// Granter is a node that some callers may use although their rights lists do not
// cover it: [Bodies], and what it holds. It says nothing about those without a
// list, for whom there are the mode bits.
type Granter interface {
	Node
	// Grants reports whether who may walk to the node and open it.
	Grants(who *Identity) bool
}

// Directory is a node with children.
type Directory interface {
	Node
	// Lookup finds a child, listed or not. A name that is not there is
	// NotExist.
	Lookup(ctx context.Context, name string) (Node, error)
	// Names lists the children in the order of their names. It may leave some
	// out; the Fid leaves out the conversational files in any case.
	Names(ctx context.Context) ([]string, error)
}

// Opener is a node that can be opened. The Fid has checked permission.
type Opener interface {
	Open(ctx context.Context, who *Identity, how Flags) (Handle, error)
}

// Creator is a directory in which files or directories can be made: perm says
// which, by ModeDir. The Fid has looked for the name and not found it, and opens
// the node next, whatever its mode bits are.
type Creator interface {
	Create(ctx context.Context, who *Identity, name string, perm iofs.FileMode) (Node, error)
}

// Remover is a directory whose children can be removed.
type Remover interface {
	Remove(ctx context.Context, who *Identity, name string) error
}

// Renamer is a directory whose children can be renamed, to newname in dir,
// replacing what is there. dir is the same directory, or another that the
// implementation knows; otherwise CrossDevice.
type Renamer interface {
	Rename(ctx context.Context, who *Identity, name string, dir Directory, newname string) error
}

// Changer is a node whose attributes can be changed.
type Changer interface {
	Change(ctx context.Context, who *Identity, c Change) error
}

// Replacer is a file whose whole content can be replaced, as it is when scratch
// is renamed over it; an error leaves the old content.
type Replacer interface {
	Replace(ctx context.Context, who *Identity, data []byte) error
}

// Linker is a symbolic link. The Fid follows it, and checks the way.
type Linker interface {
	Readlink(ctx context.Context) (string, error)
}

// Change is what a wstat changes: the fields that are not nil. A file whose
// kind has no use for one accepts it and does nothing, as long as the caller
// could have written the file (touch, and the shell's truncation before a
// write, must not fail).
type Change struct {
	Mode  *iofs.FileMode
	MTime *time.Time
	Size  *int64
}

// Handle is an open file. It also implements [Reader], [Writer], [Syncer],
// [Truncater] or [Stater], as far as it can do those things. A Read may run at
// the same time as anything but another Read and Close; the rest is called one
// at a time.
type Handle interface {
	// Close ends the use of the handle. What was written and is not yet
	// committed is committed first; the error is that commit's.
	Close() error
}

// Reader reads up to len(p) bytes from off; 0 and nil is the end of the file. A
// conversational file ignores off and blocks until it has something, ctx is
// done (Interrupted, and nothing is consumed), or it ends. It looks for
// something to give before it looks at ctx, so that a reader who must not wait
// (O_NONBLOCK) comes with a ctx that is done and takes Interrupted for the end.
type Reader interface {
	Read(ctx context.Context, p []byte, off int64) (int, error)
}

// Writer writes p at off. It never waits for anything but the disk and takes
// all of p or none of it.
type Writer interface {
	Write(ctx context.Context, p []byte, off int64) (int, error)
}

// Syncer commits what has been written so far: 9P's wstat that changes
// nothing, FUSE's flush by the process that opened the file. With nothing new
// written it does nothing.
type Syncer interface {
	Sync(ctx context.Context) error
}

// Truncater sets the size of what the handle is writing.
type Truncater interface {
	Truncate(ctx context.Context, size int64) error
}

// Stater is a handle that knows more than its node: [Ask] gives the number of
// the accepted body as the version.
type Stater interface {
	Stat(ctx context.Context) (Info, error)
}
