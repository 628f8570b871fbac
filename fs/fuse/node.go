package fuse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"

	"mikan/fs"
)

// maxDepth bounds a path, and a loop that a hostile tree could make by giving
// two directories one inode number.
const maxDepth = 256

// node is a file that the kernel knows. It is a place in the tree and nothing
// more; who stands there and may do what is asked anew each time.
type node struct {
	gofs.Inode
	srv *Server
	// up and name are where a file of the tree's own is found; a host file has
	// none, for there another file may be found under the same name.
	up   *node
	name string

	mu      sync.Mutex
	writers []*handle // open for writing, oldest first
}

var (
	_ gofs.NodeLookuper   = (*node)(nil)
	_ gofs.NodeGetattrer  = (*node)(nil)
	_ gofs.NodeSetattrer  = (*node)(nil)
	_ gofs.NodeOpener     = (*node)(nil)
	_ gofs.NodeReadlinker = (*node)(nil)
	_ gofs.NodeStatfser   = (*node)(nil)
)

// walk returns a Fid on the file called more below n, for the caller of
// request. The Fid is the caller's to clunk.
func (n *node) walk(request context.Context, more ...string) (fs.Fid, error) {
	names, err := n.path(more)
	if err != nil {
		return nil, err
	}
	ctx := n.srv.ops
	root, err := n.srv.src.Attach(ctx, n.srv.callers.of(request))
	if err != nil || len(names) == 0 {
		return root, err
	}
	defer root.Clunk(ctx)
	return root.Walk(ctx, names...)
}

// errGone is what a host file is that was removed or replaced and stands nowhere.
var errGone = fmt.Errorf("the file has no name any more: %w", fs.NotExist)

// errno is the reply to a request about n itself that failed with err. If n is
// gone, its name may be another file's by now, and the kernel is told to look it
// up again: the file may have been replaced between the kernel's lookup and the
// request that came of it, and who asks for it by name must not find it missing.
// A directory that is gone is gone for those who stand in it.
func (n *node) errno(err error) syscall.Errno {
	if errors.Is(err, errGone) && !n.IsDir() {
		return syscall.ESTALE
	}
	return errno(err)
}

// path is where n stands, and more below it.
func (n *node) path(more []string) ([]string, error) {
	names := slices.Clone(more)
	slices.Reverse(names)
	for at := n.EmbeddedInode(); !at.IsRoot(); {
		name, parent := at.Parent()
		if parent == nil {
			// Another file was renamed to the name; a value has become that file.
			place := at.Operations().(*node)
			if place.up == nil {
				return nil, errGone
			}
			name, parent = place.name, place.up.EmbeddedInode()
		}
		if len(names) == maxDepth {
			return nil, fs.NameTooLong
		}
		names = append(names, name)
		at = parent
	}
	slices.Reverse(names)
	return names, nil
}

// child is the inode of the file called name in n.
func (n *node) child(request context.Context, name string, info fs.Info, out *gofuse.EntryOut) *gofs.Inode {
	setAttr(&out.Attr, info)
	out.SetAttrTimeout(fresh(info))
	child := &node{srv: n.srv}
	if !info.Host {
		child.up, child.name = n, name
	}
	return n.NewInode(request, child, stable(info))
}

// Lookup finds a child.
func (n *node) Lookup(request context.Context, name string, out *gofuse.EntryOut) (*gofs.Inode, syscall.Errno) {
	info, err := n.stat(request, name)
	if err != nil {
		return nil, errno(err)
	}
	return n.child(request, name, info, out), 0
}

func (n *node) stat(request context.Context, more ...string) (fs.Info, error) {
	fid, err := n.walk(request, more...)
	if err != nil {
		return fs.Info{}, err
	}
	defer fid.Clunk(n.srv.ops)
	return fid.Stat(n.srv.ops)
}

// Getattr describes the file. f is some open file of this inode: if the path is
// gone, it knows the file that nobody can find any more.
func (n *node) Getattr(request context.Context, f gofs.FileHandle, out *gofuse.AttrOut) syscall.Errno {
	info, err := n.stat(request)
	h, open := f.(*handle)
	deleted := open && errors.Is(err, fs.NotExist)
	if deleted {
		info, err = h.stat()
	}
	if err != nil {
		return n.errno(err)
	}
	setAttr(&out.Attr, info)
	out.SetTimeout(fresh(info))
	if deleted {
		out.Nlink = 0
	}
	return 0
}

// Open opens the file.
func (n *node) Open(request context.Context, flags uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	fid, info, err := n.open(request, flags)
	if err != nil {
		return nil, 0, n.errno(err)
	}
	h, how := n.handle(request, fid, info, flags)
	return h, how, 0
}

// open walks to the file called more below n and opens it.
func (n *node) open(request context.Context, flags uint32, more ...string) (fs.Fid, fs.Info, error) {
	fid, err := n.walk(request, more...)
	if err != nil {
		return nil, fs.Info{}, err
	}
	return n.opened(fid, fid.Open(n.srv.ops, openFlags(flags)))
}

// opened describes what fid stands on after an open that ended with err; it
// clunks fid if that or the description failed.
func (n *node) opened(fid fs.Fid, err error) (fs.Fid, fs.Info, error) {
	var info fs.Info
	if err == nil {
		info, err = fid.Stat(n.srv.ops)
	}
	if err != nil {
		_ = fid.Clunk(n.srv.ops)
		return nil, fs.Info{}, err
	}
	return fid, info, nil
}

// handle registers the open fid as an open file of n. The number says to the
// kernel how to treat it: the pages of host files are cached, so that they can
// be mapped, unless the end of the file is ours to find; everything else is read
// and written directly; conversational files have no offsets.
func (n *node) handle(request context.Context, fid fs.Fid, info fs.Info, flags uint32) (*handle, uint32) {
	h := &handle{
		srv:     n.srv,
		node:    n,
		fid:     fid,
		opener:  n.srv.callers.of(request).PID,
		write:   openFlags(flags)&fs.Write != 0,
		append:  flags&syscall.O_APPEND != 0,
		stream:  info.Stream(),
		eof:     info.Stream() && flags&syscall.O_NONBLOCK != 0,
		reading: newLock(),
		writing: newLock(),
	}
	n.srv.handles.add(h)
	var how uint32
	if !info.Host || h.append {
		how |= gofuse.FOPEN_DIRECT_IO
	}
	if h.stream {
		how |= gofuse.FOPEN_STREAM
	}
	if !h.write {
		return h, how | gofuse.FOPEN_NOFLUSH
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writers = append(n.writers, h)
	return h, how
}

// forget is the end of handle.
func (n *node) forget(h *handle) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.writers, h); i >= 0 {
		n.writers = slices.Delete(n.writers, i, i+1)
	}
}

// writer is the file that a process has opened for writing last, or nil. A
// shell's ">" is an open and then a truncation that does not say of what.
func (n *node) writer(pid int) *handle {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range slices.Backward(n.writers) {
		if h.opener == pid {
			return h
		}
	}
	return nil
}

// Readlink gives the target of a symbolic link.
func (n *node) Readlink(request context.Context) ([]byte, syscall.Errno) {
	fid, err := n.walk(request)
	if err != nil {
		return nil, errno(err)
	}
	defer fid.Clunk(n.srv.ops)
	target, err := fid.Readlink(n.srv.ops)
	return []byte(target), errno(err)
}

// Statfs describes a file system with room: some programs look before they
// write. How much there is, no one can say of a tree that is made up.
func (n *node) Statfs(_ context.Context, out *gofuse.StatfsOut) syscall.Errno {
	const plenty = 1 << 30
	*out = gofuse.StatfsOut{
		Bsize: blockSize, Frsize: blockSize, NameLen: nameMax,
		Blocks: plenty, Bfree: plenty, Bavail: plenty,
		Files: plenty, Ffree: plenty,
	}
	return 0
}
