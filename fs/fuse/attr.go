package fuse

import (
	iofs "io/fs"
	"math"
	"syscall"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs"
)

const (
	blockSize = 4096
	nameMax   = 255
)

// typeBits are the S_IFMT bits of mode.
func typeBits(mode fs.FileMode) uint32 {
	switch {
	case mode.IsDir():
		return syscall.S_IFDIR
	case mode&iofs.ModeSymlink != 0:
		return syscall.S_IFLNK
	}
	return syscall.S_IFREG
}

// ino is the inode number of info. The largest number is go-fuse's own.
func ino(info fs.Info) uint64 { return min(info.ID, math.MaxUint64-1) }

func stable(info fs.Info) gofs.StableAttr {
	return gofs.StableAttr{Mode: typeBits(info.Mode), Ino: ino(info)}
}

// setAttr fills in out from info. Nothing here depends on the time of the
// call: make and git take a file for changed when its times are.
func setAttr(out *gofuse.Attr, info fs.Info) {
	out.Ino = ino(info)
	out.Mode = typeBits(info.Mode) | uint32(info.Mode.Perm())
	out.Nlink = 1
	if info.Mode.IsDir() {
		out.Nlink = 2
	}
	out.Size = uint64(max(info.Size, 0))
	out.Blksize = blockSize
	out.Blocks = (out.Size + 511) / 512
	out.Owner = gofuse.Owner{Uid: info.UID, Gid: info.GID}
	if !info.MTime.IsZero() {
		out.SetTimes(&info.MTime, &info.MTime, &info.MTime)
	}
}

// tick lets the kernel believe attributes until its clock ticks once or twice
// (the smallest time there is): long enough that the permission checks which
// follow each step of a walk do not ask again for what the step has just told.
const tick = time.Nanosecond

// fresh is how long attributes may be believed. The size of a file that grows
// under an open descriptor must be true whenever it is asked for.
func fresh(info fs.Info) time.Duration {
	if info.Mode&iofs.ModeAppend != 0 || info.Host && !info.Mode.IsDir() {
		return 0
	}
	return tick
}

// errno is what a FUSE reply says for err.
func errno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	return fs.KindOf(err).Errno()
}

// openFlags are the access mode of an open(2) and its O_TRUNC.
func openFlags(flags uint32) fs.Flags {
	var how fs.Flags
	switch flags & syscall.O_ACCMODE {
	case syscall.O_RDONLY:
		how = fs.Read
	case syscall.O_WRONLY:
		how = fs.Write
	default:
		how = fs.Read | fs.Write
	}
	if flags&syscall.O_TRUNC != 0 && how&fs.Write != 0 {
		how |= fs.Truncate
	}
	return how
}
