package fuse

import (
	"context"
	"errors"
	iofs "io/fs"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs"
)

// Setattr changes the size, the mode or the time of the last change. An owner
// or a group can only be set to what it is.
func (n *node) Setattr(request context.Context, f gofs.FileHandle, in *gofuse.SetAttrIn, out *gofuse.AttrOut) syscall.Errno {
	info, err := n.setattr(request, f, in)
	if err != nil {
		return n.errno(err)
	}
	setAttr(&out.Attr, info)
	return 0
}

func (n *node) setattr(request context.Context, f gofs.FileHandle, in *gofuse.SetAttrIn) (fs.Info, error) {
	h, _ := f.(*handle)
	size, resize := in.GetSize()
	if resize && h == nil {
		h = n.writer(n.srv.callers.of(request).PID)
	}
	if resize && h != nil {
		if err := h.truncate(int64(size)); err != nil {
			return fs.Info{}, err
		}
	}
	info, err := n.change(request, h, in)
	if err == nil && resize && !info.Stream() {
		// What the one who truncates goes on writing has this size, whatever
		// the others see until it is committed.
		info.Size = int64(size)
	}
	return info, err
}

// change makes the changes that are not an open file's, and describes the file
// as it is then.
func (n *node) change(request context.Context, h *handle, in *gofuse.SetAttrIn) (fs.Info, error) {
	ctx := n.srv.ops
	fid, err := n.walk(request)
	if h != nil && errors.Is(err, fs.NotExist) {
		return h.stat()
	}
	if err != nil {
		return fs.Info{}, err
	}
	defer fid.Clunk(ctx)
	info, err := fid.Stat(ctx)
	if err != nil {
		return info, err
	}
	if uid, ok := in.GetUID(); ok && uid != info.UID {
		return info, fs.Fixed
	}
	if gid, ok := in.GetGID(); ok && gid != info.GID {
		return info, fs.Fixed
	}
	c, some := changeOf(in, h == nil)
	if !some {
		return info, nil
	}
	if err := fid.Change(ctx, c); err != nil {
		return info, err
	}
	return fid.Stat(ctx)
}

// changeOf is what in asks for and the tree can change; the access time and
// the time of the last status change are nowhere kept.
func changeOf(in *gofuse.SetAttrIn, resize bool) (c fs.Change, some bool) {
	if mode, ok := in.GetMode(); ok {
		perm := iofs.FileMode(mode) & iofs.ModePerm
		c.Mode, some = &perm, true
	}
	if t, ok := in.GetMTime(); ok {
		c.MTime, some = &t, true
	}
	if size, ok := in.GetSize(); ok && resize {
		n := int64(size)
		c.Size, some = &n, true
	}
	return c, some
}
