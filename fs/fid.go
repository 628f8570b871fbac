package fs

import (
	"context"
	iofs "io/fs"
)

// FileMode is [iofs.FileMode]; see [Info.Mode] for the bits that count here.
type FileMode = iofs.FileMode

// The type bits of a mode that count here.
const (
	ModeDir       = iofs.ModeDir
	ModeSymlink   = iofs.ModeSymlink
	ModeAppend    = iofs.ModeAppend
	ModeExclusive = iofs.ModeExclusive
	ModeTemporary = iofs.ModeTemporary
)

// Fid is a position in the tree held by one identity, as in 9P2000: it stands
// on a file and, after [Fid.Open], is an open file. It has two implementations,
// the local one of [Tree.Attach] and the remote one of package fs/ninep, so
// that a [Client] and the FUSE mount work over either. Every error is an
// [*Error] or a [Kind].
//
// A Fid is used by one goroutine at a time, except that a Read may run at the
// same time as anything but another Read and the Fid's end, and that many may
// Walk from a Fid that is not open.
type Fid interface {
	// Walk returns a new Fid, names further down; without names, a copy. ".."
	// is the parent. An error leaves nothing behind.
	Walk(ctx context.Context, names ...string) (Fid, error)
	// Stat describes the file.
	Stat(ctx context.Context) (Info, error)
	// Open opens the file that the Fid stands on.
	Open(ctx context.Context, how Flags) error
	// Create makes name in the directory that the Fid stands on, with the
	// permission bits and ModeDir of perm, and then stands on it, open. A name
	// that is there already is Exist.
	Create(ctx context.Context, name string, perm FileMode, how Flags) error
	// ReadDir lists the directory that the Fid stands on, in the order of
	// names. It needs read permission, not an open.
	ReadDir(ctx context.Context) ([]Info, error)
	// Read, Write, Sync and Truncate are those of the open [Handle]; Truncate
	// of a Fid that is not open changes the file, as [Change.Size] does.
	Read(ctx context.Context, p []byte, off int64) (int, error)
	Write(ctx context.Context, p []byte, off int64) (int, error)
	Sync(ctx context.Context) error
	Truncate(ctx context.Context, size int64) error
	// Change is 9P's wstat but for the name.
	Change(ctx context.Context, c Change) error
	// Rename gives the file a new name in dir, or in its own directory if dir is
	// nil. Over 9P2000 only the latter exists; otherwise CrossDevice.
	Rename(ctx context.Context, dir Fid, name string) error
	// Readlink gives the target of a symbolic link; over 9P2000 there are none.
	Readlink(ctx context.Context) (string, error)
	// Remove removes the file and clunks the Fid, also when it fails.
	Remove(ctx context.Context) error
	// Clunk ends the use of the Fid. Its error is that of a commit that was
	// still due ([Handle.Close]); the Fid is gone all the same.
	Clunk(ctx context.Context) error
}

// Attacher gives out the root: a [Tree], or a connection to one.
type Attacher interface {
	// Attach returns the root for who. A connection ignores who: the server
	// knows its peer.
	Attach(ctx context.Context, who *Identity) (Fid, error)
}
