package fuse

import (
	"context"
	"errors"
	iofs "io/fs"
	"slices"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mikan/fs"
)

// Symbolic and hard links and device files cannot be made; go-fuse says so
// (ENOTSUP) for the methods that are not here.
var (
	_ gofs.NodeCreater        = (*node)(nil)
	_ gofs.NodeMkdirer        = (*node)(nil)
	_ gofs.NodeUnlinker       = (*node)(nil)
	_ gofs.NodeRmdirer        = (*node)(nil)
	_ gofs.NodeRenamer        = (*node)(nil)
	_ gofs.NodeOpendirHandler = (*node)(nil)
)

// Create makes a file and opens it. If another was faster, that one is opened,
// unless the caller insists (O_EXCL).
func (n *node) Create(request context.Context, name string, flags, mode uint32, out *gofuse.EntryOut) (*gofs.Inode, gofs.FileHandle, uint32, syscall.Errno) {
	fid, info, err := n.create(request, name, iofs.FileMode(mode)&iofs.ModePerm, openFlags(flags))
	if errors.Is(err, fs.Exist) && flags&syscall.O_EXCL == 0 {
		fid, info, err = n.open(request, flags, name)
	}
	if err != nil {
		return nil, nil, 0, errno(err)
	}
	inode := n.child(request, name, info, out)
	h, how := inode.Operations().(*node).handle(request, fid, info, flags)
	return inode, h, how, 0
}

// create makes name in n and returns the open Fid that stands on it.
func (n *node) create(request context.Context, name string, perm fs.FileMode, how fs.Flags) (fs.Fid, fs.Info, error) {
	fid, err := n.walk(request)
	if err != nil {
		return nil, fs.Info{}, err
	}
	return n.opened(fid, fid.Create(n.srv.ops, name, perm, how))
}

// Mkdir makes a directory.
func (n *node) Mkdir(request context.Context, name string, mode uint32, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	perm := iofs.ModeDir | iofs.FileMode(mode)&iofs.ModePerm
	fid, info, err := n.create(request, name, perm, fs.Read)
	if err != nil {
		return nil, errno(err)
	}
	_ = fid.Clunk(n.srv.ops)
	return n.child(request, name, info, out), 0
}

// Unlink removes a file.
func (n *node) Unlink(request context.Context, name string) syscall.Errno {
	fid, err := n.walk(request, name)
	if err != nil {
		return errno(err)
	}
	return errno(fid.Remove(n.srv.ops))
}

// Rmdir removes a directory; the kernel has checked that it is one.
func (n *node) Rmdir(request context.Context, name string) syscall.Errno {
	return n.Unlink(request, name)
}

// Rename moves name to newName in parent, replacing what is there.
func (n *node) Rename(request context.Context, name string, parent gofs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	to, ok := parent.(*node)
	if !ok || flags&^unix.RENAME_NOREPLACE != 0 {
		return syscall.EINVAL
	}
	if flags&unix.RENAME_NOREPLACE != 0 {
		if _, err := to.stat(request, newName); err == nil {
			return syscall.EEXIST
		}
	}
	return errno(n.rename(request, name, to, newName))
}

func (n *node) rename(request context.Context, name string, to *node, newName string) error {
	ctx := n.srv.ops
	fid, err := n.walk(request, name)
	if err != nil {
		return err
	}
	defer fid.Clunk(ctx)
	if to == n {
		return fid.Rename(ctx, nil, newName)
	}
	dir, err := to.walk(request)
	if err != nil {
		return err
	}
	defer dir.Clunk(ctx)
	return fid.Rename(ctx, dir, newName)
}

// OpendirHandle lists the directory: what a reader gets is what was there when
// it opened the directory or went back to its start.
func (n *node) OpendirHandle(request context.Context, _ uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	d := &dirHandle{node: n}
	if err := d.load(request); err != nil {
		return nil, 0, errno(err)
	}
	return d, 0, 0
}

// dirHandle is an open directory. go-fuse calls it from one request at a time.
type dirHandle struct {
	node    *node
	entries []gofuse.DirEntry
	next    int
}

var (
	_ gofs.FileReaddirenter = (*dirHandle)(nil)
	_ gofs.FileSeekdirer    = (*dirHandle)(nil)
	_ gofs.FileFsyncdirer   = (*dirHandle)(nil)
)

func (d *dirHandle) load(request context.Context) error {
	n := d.node
	fid, err := n.walk(request)
	if err != nil {
		return err
	}
	defer fid.Clunk(n.srv.ops)
	list, err := fid.ReadDir(n.srv.ops)
	if err != nil {
		return err
	}
	up := n.StableAttr().Ino
	if _, parent := n.Parent(); parent != nil {
		up = parent.StableAttr().Ino
	}
	d.next = 0
	d.entries = slices.Grow(d.entries[:0], len(list)+2)
	d.entries = append(d.entries,
		gofuse.DirEntry{Name: ".", Mode: syscall.S_IFDIR, Ino: n.StableAttr().Ino},
		gofuse.DirEntry{Name: "..", Mode: syscall.S_IFDIR, Ino: up})
	for _, info := range list { // 0 would make the C library skip the entry
		d.entries = append(d.entries, gofuse.DirEntry{Name: info.Name, Mode: typeBits(info.Mode), Ino: max(ino(info), 1)})
	}
	return nil
}

// Readdirent gives the next entry, nil at the end.
func (d *dirHandle) Readdirent(context.Context) (*gofuse.DirEntry, syscall.Errno) {
	if d.next >= len(d.entries) {
		return nil, 0
	}
	e := d.entries[d.next]
	d.next++
	e.Off = uint64(d.next)
	return &e, 0
}

// Seekdir goes to an offset that Readdirent gave; at 0 the directory is listed
// again.
func (d *dirHandle) Seekdir(request context.Context, off uint64) syscall.Errno {
	if off == 0 {
		return errno(d.load(request))
	}
	if off > uint64(len(d.entries)) {
		return syscall.EINVAL
	}
	d.next = int(off)
	return 0
}

// Fsyncdir succeeds: a directory of the tree is as durable as its last change.
func (d *dirHandle) Fsyncdir(context.Context, uint32) syscall.Errno { return 0 }
