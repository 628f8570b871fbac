package ninep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// maxSocketPath is what fits in a socket address (unix(7)), less its end.
const maxSocketPath = 107

// DialUnix connects to the Unix socket at path, which may be longer than a
// socket address.
func DialUnix(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	var nc net.Conn
	err := shorten(path, func(short string) (err error) {
		nc, err = d.DialContext(ctx, "unix", short)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, cause(err))
	}
	return nc, nil
}

// ListenUnix makes a Unix socket at path, which may be longer than a socket
// address, with the permission bits of mode, whatever the umask: it gets them
// before anyone can connect. A socket that is there is replaced if nobody
// answers on it; anything else that is there is an error. Close removes it.
func ListenUnix(path string, mode os.FileMode) (net.Listener, error) {
	l, err := listenUnix(path, mode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, cause(err))
	}
	return l, nil
}

func listenUnix(path string, mode os.FileMode) (net.Listener, error) {
	if err := checkStale(path); err != nil {
		return nil, err
	}
	// The socket is made where nobody else can reach it, and moved.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".9p-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "s")
	var ul *net.UnixListener
	err = shorten(made, func(short string) (err error) {
		ul, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	ul.SetUnlinkOnClose(false)
	err = os.Chmod(made, mode.Perm())
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		ul.Close()
		return nil, err
	}
	return &listener{UnixListener: ul, path: path}, nil
}

// checkStale reports why path cannot be replaced, if anything is there.
func checkStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return errors.New("a file that is not a socket is there; remove it or choose another path")
	}
	nc, err := DialUnix(context.Background(), path)
	if err == nil {
		nc.Close()
		return errors.New("another server answers there; stop it first")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return nil
}

// listener removes the socket by the name that it has, not that it was made by.
type listener struct {
	*net.UnixListener
	path   string
	remove sync.Once
}

// Close may be called more than once; after any of the calls the socket is gone.
func (l *listener) Close() error {
	l.remove.Do(func() { os.Remove(l.path) })
	return l.UnixListener.Close()
}

// Addr is the path as it was given.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// shorten calls use with a name for path that fits in a socket address: a long
// one is reached through the descriptor of its directory.
func shorten(path string, use func(short string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return use("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + filepath.Base(path))
}

// cause leaves out the layers of err that name the address again.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
