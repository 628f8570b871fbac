package fs

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"path"
	"strings"
	"syscall"
)

// HostDir is a directory of the host that passes through: what is done to its
// files is done on the disk, at once. Who writes there is not trusted. All goes
// through an [os.Root], so nothing outside is reached, whatever links are made
// and swapped meanwhile; a file that is opened is a regular file, so nothing
// waits. Sockets, devices and pipes do not exist, nor do symbolic links that
// lead outside. The files' own modes and owners count.
type HostDir struct {
	// Root opens the directory. It is called for each operation, and what it
	// returns is closed after it, so that a directory nobody uses costs nothing.
	Root     func() (*os.Root, error)
	ReadOnly bool // refuse all changes
}

var (
	_ Directory = (*HostDir)(nil)
	_ Creator   = (*HostDir)(nil)
	_ Remover   = (*HostDir)(nil)
	_ Renamer   = (*HostDir)(nil)
	_ Changer   = (*HostDir)(nil)
)

// NewHostDir returns the HostDir at dir. The directory need not exist; until it
// does, nor does the file.
func NewHostDir(dir string) *HostDir {
	return &HostDir{Root: func() (*os.Root, error) { return os.OpenRoot(dir) }}
}

func (h *HostDir) top() *hostDir { return &hostDir{h, "."} }

// Stat describes the directory.
func (h *HostDir) Stat(ctx context.Context) (Info, error) { return h.top().Stat(ctx) }

// Lookup finds a file in the directory.
func (h *HostDir) Lookup(ctx context.Context, name string) (Node, error) {
	return h.top().Lookup(ctx, name)
}

// Names lists the files that exist for us.
func (h *HostDir) Names(ctx context.Context) ([]string, error) { return h.top().Names(ctx) }

// Create makes a file or a directory.
func (h *HostDir) Create(ctx context.Context, who *Identity, name string, perm FileMode) (Node, error) {
	return h.top().Create(ctx, who, name, perm)
}

// Remove removes a file or an empty directory.
func (h *HostDir) Remove(ctx context.Context, who *Identity, name string) error {
	return h.top().Remove(ctx, who, name)
}

// Rename renames a file, also to another directory of the same HostDir.
func (h *HostDir) Rename(ctx context.Context, who *Identity, name string, dir Directory, newname string) error {
	return h.top().Rename(ctx, who, name, dir, newname)
}

// Change changes the directory's mode or time.
func (h *HostDir) Change(ctx context.Context, who *Identity, c Change) error {
	return h.top().Change(ctx, who, c)
}

// use opens the root for do, and makes do's error one of ours.
func (h *HostDir) use(do func(*os.Root) error) error {
	root, err := h.Root()
	if err != nil {
		return hostError(err)
	}
	defer root.Close()
	return hostError(do(root))
}

// change is use for what ReadOnly refuses.
func (h *HostDir) change(do func(*os.Root) error) error {
	if h.ReadOnly {
		return ReadOnly
	}
	return h.use(do)
}

// hostError takes the host's paths out of err.
func hostError(err error) error {
	var no syscall.Errno
	var k Kind
	var e *Error
	switch {
	case err == nil, errors.As(err, &e), errors.As(err, &k):
		return err
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return NotExist // a link or a pipe in place of the file
	case errors.As(err, &no):
		if k = KindOf(no); k != IO {
			return k
		}
		return Errorf(IO, "%w", no)
	}
	return NotExist // os.Root refuses a way out by an error of its own
}

// hostInfo is what the host says about a file.
func hostInfo(fi os.FileInfo) Info {
	info := Info{
		Mode:  fi.Mode().Perm() | fi.Mode().Type(),
		Size:  fi.Size(),
		MTime: fi.ModTime(),
		Host:  true,
	}
	if fi.IsDir() {
		info.Size = 0
	}
	info.Version = version(binary.LittleEndian.AppendUint64(nil, uint64(fi.Size())), fi.ModTime())
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.UID, info.GID, info.ID = st.Uid, st.Gid, hostID(uint64(st.Dev), st.Ino)
	}
	return info
}

// hostID hashes what identifies a file on the host. The first byte keeps it
// apart from the ids that are made of paths, which hold no NUL.
func hostID(dev, ino uint64) uint64 {
	b := binary.LittleEndian.AppendUint64([]byte{0}, dev)
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(b, ino))
	return h.Sum64()
}

// node returns the node for the file at rel, if it exists for us.
func (h *HostDir) node(root *os.Root, rel string) (Node, error) {
	fi, err := root.Lstat(rel)
	if err != nil {
		return nil, err
	}
	switch fi.Mode().Type() {
	case 0:
		return &hostFile{host: h, rel: rel}, nil
	case ModeDir:
		return &hostDir{h, rel}, nil
	case ModeSymlink:
		_, err := linkTarget(root, rel)
		return &hostLink{h, rel}, err
	}
	return nil, NotExist
}

// linkTarget reads the link at rel, which does not exist if it leads outside, by
// its own text or through other links.
func linkTarget(root *os.Root, rel string) (string, error) {
	target, err := root.Readlink(rel)
	if err != nil {
		return "", err
	}
	to := path.Join(path.Dir(rel), target)
	if path.IsAbs(target) || to == ".." || strings.HasPrefix(to, "../") {
		return "", NotExist
	}
	if _, err := root.Stat(rel); err != nil && !errors.Is(err, syscall.ENOENT) {
		return "", NotExist
	}
	return target, nil
}
