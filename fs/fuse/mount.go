package fuse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"time"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	gofuse "github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"mikan/fs"
)

// Options say how to mount. The zero value will do.
type Options struct {
	// AllowOther lets other users in, root among them; the mode bits say what
	// they may do. Without it the kernel admits the mounting user only.
	AllowOther bool
	// Name is what df and mount show; "mikan" if empty.
	Name string
	// Log gets what goes wrong in the mount itself; nil is the default logger.
	Log *slog.Logger
}

// maxWrite is the most that one read or write request carries.
const maxWrite = 128 << 10

// Mount mounts the tree of src on dir, which is made if it does not exist and
// must be empty. A mount of ours that was left there by a server that is gone is
// cleared away; one that is alive is an error. The mount lasts until
// [Server.Close], or until somebody unmounts it.
func Mount(dir string, src fs.Attacher, opts Options) (*Server, error) {
	if opts.Name == "" {
		opts.Name = "mikan"
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	srv, err := mount(dir, src, opts)
	if err != nil {
		return nil, fmt.Errorf("mount %s: %w", dir, err)
	}
	go srv.serve()
	return srv, nil
}

func mount(dir string, src fs.Attacher, opts Options) (*Server, error) {
	if err := Available(opts); err != nil {
		return nil, err
	}
	dir, err := resolve(dir)
	if err != nil {
		return nil, err
	}
	root, err := describeRoot(src)
	if err != nil {
		return nil, err
	}
	if err := prepare(dir, opts.Name); err != nil {
		return nil, err
	}
	srv := newServer(dir, src)
	raw := gofs.NewNodeFS(&node{srv: srv}, nodeOptions(root, opts))
	if srv.raw, err = serverOn(dir, raw, mountOptions(opts)); err != nil {
		return nil, err
	}
	m, _ := mountAt(dir)
	srv.minor = m.minor
	return srv, nil
}

// describeRoot looks at the root of src as this process's user would.
func describeRoot(src fs.Attacher) (fs.Info, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	who := &fs.Identity{UID: uint32(os.Getuid()), GID: uint32(os.Getgid()), PID: os.Getpid()}
	root, err := src.Attach(ctx, who)
	if err != nil {
		return fs.Info{}, err
	}
	defer root.Clunk(ctx)
	return root.Stat(ctx)
}

// nodeOptions let nothing be remembered but by the tree.
func nodeOptions(root fs.Info, opts Options) *gofs.Options {
	never := new(time.Duration)
	attr := stable(root)
	return &gofs.Options{
		MountOptions:    *mountOptions(opts),
		EntryTimeout:    never,
		AttrTimeout:     never,
		NegativeTimeout: never,
		NullPermissions: true,
		RootStableAttr:  &attr,
	}
}

func mountOptions(opts Options) *gofuse.MountOptions {
	return &gofuse.MountOptions{
		AllowOther:    opts.AllowOther,
		Options:       []string{"default_permissions"},
		MaxWrite:      maxWrite,
		FsName:        opts.Name,
		Name:          opts.Name,
		DisableXAttrs: true,
		// An entry that is forgotten at once is not worth an attribute.
		DisableReadDirPlus: true,
		// The data is in memory; a pipe between it and the kernel is a detour.
		DisableSplice: true,
		// go-fuse reports the replies that nobody waits for any more, which is
		// what becomes of a read whose reader was killed.
		Logger: slog.NewLogLogger(opts.Log.Handler(), slog.LevelDebug),
		PanicHandler: func(reason any) gofuse.Status {
			opts.Log.Error("panic in a request of the mount", "reason", reason, "stack", string(debug.Stack()))
			return gofuse.EIO
		},
	}
}

// serverOn mounts raw on dir: with mount(2) if this process may, else with
// fusermount3.
func serverOn(dir string, raw gofuse.RawFileSystem, opts *gofuse.MountOptions) (*gofuse.Server, error) {
	fd, err := mountDirect(dir, opts)
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return serverBy(helperName, raw, dir, opts)
	}
	if err != nil {
		return nil, err
	}
	srv, err := serverBy(device, raw, fmt.Sprintf("/dev/fd/%d", fd), opts)
	if err != nil {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
	}
	return srv, err
}

// serverBy starts go-fuse on what it takes for a mount point; how names the way
// for the error.
func serverBy(how string, raw gofuse.RawFileSystem, at string, opts *gofuse.MountOptions) (*gofuse.Server, error) {
	srv, err := gofuse.NewServer(raw, at, opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", how, strings.TrimSpace(err.Error()))
	}
	return srv, nil
}

// mountDirect opens the device and mounts it. go-fuse can do the same, but
// hands its descriptor down to every child of this process, and a child that
// outlives us would keep a dead mount waiting for ever.
func mountDirect(dir string, opts *gofuse.MountOptions) (int, error) {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", device, err)
	}
	data := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d,max_read=%d,default_permissions",
		fd, unix.S_IFDIR, os.Geteuid(), os.Getegid(), opts.MaxWrite)
	if opts.AllowOther {
		data += ",allow_other"
	}
	err = unix.Mount(opts.FsName, dir, "fuse."+opts.Name, unix.MS_NOSUID|unix.MS_NODEV, data)
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
