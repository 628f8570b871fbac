package ninep

import (
	"context"
	"encoding/binary"
	"path"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// maxListing bounds what a server may say that a directory holds, in bytes.
const maxListing = 64 << 20

// openMode is the reverse of openFlags.
func openMode(how fs.Flags) (proto.Mode, error) {
	var mode proto.Mode
	switch how &^ fs.Truncate {
	case fs.Read:
		mode = proto.Oread
	case fs.Write:
		mode = proto.Owrite
	case fs.Read | fs.Write:
		mode = proto.Ordwr
	default:
		return 0, fs.Errorf(fs.Invalid, "an open is for reading, writing or both")
	}
	if how&fs.Truncate != 0 {
		if how&fs.Write == 0 {
			return 0, fs.Errorf(fs.Invalid, "an open truncates only when writing")
		}
		mode |= proto.Otrunc
	}
	return mode, nil
}

func (r *remote) Open(ctx context.Context, how fs.Flags) error {
	mode, err := openMode(how)
	if err != nil {
		return r.fail("open", err)
	}
	_, err = r.c.rpc(ctx, proto.Ropen, nil, func(tag uint16) proto.FCall {
		return &proto.TOpen{Header: header(proto.Topen, tag), Fid: r.num, Mode: mode}
	})
	if err != nil {
		return r.fail("open", err)
	}
	r.open = true
	return nil
}

func (r *remote) Create(ctx context.Context, name string, perm fs.FileMode, how fs.Flags) error {
	made := remote{path: path.Join(r.at(), name)}
	mode, err := openMode(how)
	if err == nil && len(name) > maxName {
		err = fs.NameTooLong
	}
	if err != nil {
		return made.fail("create", err)
	}
	_, err = r.c.rpc(ctx, proto.Rcreate, nil, func(tag uint16) proto.FCall {
		return &proto.TCreate{
			Header: header(proto.Tcreate, tag), Fid: r.num,
			Name: name, Perm: toWireMode(perm), Mode: uint8(mode),
		}
	})
	if err != nil {
		return made.fail("create", err)
	}
	r.moved(made.path)
	r.open = true
	return nil
}

func (r *remote) ReadDir(ctx context.Context) ([]fs.Info, error) {
	if r.open {
		return r.readDir(ctx)
	}
	dir, err := r.Walk(ctx)
	if err != nil {
		return nil, r.fail("read", err)
	}
	defer dir.Clunk(context.WithoutCancel(ctx))
	if err := dir.Open(ctx, fs.Read); err != nil {
		return nil, r.fail("read", err)
	}
	return dir.(*remote).readDir(ctx)
}

// readDir reads an open directory to its end.
func (r *remote) readDir(ctx context.Context) ([]fs.Info, error) {
	var data []byte
	buf := make([]byte, r.c.msize)
	for len(data) < maxListing {
		n, err := r.Read(ctx, buf, int64(len(data)))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			list, err := r.entries(data)
			return list, r.fail("read", err)
		}
		data = append(data, buf[:n]...)
	}
	return nil, r.fail("read", fs.Errorf(fs.TooBig, "the directory is longer than %d bytes", maxListing))
}

// entries decodes the contents of a directory.
func (r *remote) entries(data []byte) ([]fs.Info, error) {
	for rest := data; len(rest) > 0; {
		end := len(rest) + 1
		if len(rest) >= 2 {
			end = 2 + int(binary.LittleEndian.Uint16(rest))
		}
		if end > len(rest) || !checkStat(rest[:end]) {
			return nil, fs.Errorf(fs.IO, "what the server gave is not a directory")
		}
		rest = rest[end:]
	}
	stats, err := proto.ParseStats(data)
	if err != nil {
		return nil, err
	}
	list := make([]fs.Info, len(stats))
	for i := range stats {
		if err := checkNewName(stats[i].Name); err != nil {
			return nil, err
		}
		list[i] = fromStat(&stats[i], &r.c.names)
	}
	return list, nil
}

// Read is one Tread: what blocks must not be asked for more when it has given
// something.
func (r *remote) Read(ctx context.Context, p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if off < 0 {
		return 0, r.fail("read", fs.Invalid)
	}
	p = p[:min(len(p), int(r.c.msize)-ioHeader)]
	reply, err := r.c.rpc(ctx, proto.Rread, p, func(tag uint16) proto.FCall {
		return &proto.TRead{
			Header: header(proto.Tread, tag), Fid: r.num,
			Offset: uint64(off), Count: uint32(len(p)),
		}
	})
	if err != nil {
		return 0, r.fail("read", err)
	}
	return int(reply.(*proto.RRead).Count), nil
}

// Write is as many Twrites as p needs; only the first of them is all or nothing.
func (r *remote) Write(ctx context.Context, p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, r.fail("write", fs.Invalid)
	}
	done := 0
	for done < len(p) {
		part := p[done:min(len(p), done+int(r.c.msize)-ioHeader)]
		n, err := r.twrite(ctx, part, off+int64(done))
		done += n
		if err != nil {
			return done, r.fail("write", err)
		}
	}
	return done, nil
}

func (r *remote) twrite(ctx context.Context, p []byte, off int64) (int, error) {
	reply, err := r.c.rpc(ctx, proto.Rwrite, nil, func(tag uint16) proto.FCall {
		return &proto.TWrite{
			Header: header(proto.Twrite, tag), Fid: r.num,
			Offset: uint64(off), Count: uint32(len(p)), Data: p,
		}
	})
	if err != nil {
		return 0, err
	}
	n := int(reply.(*proto.RWrite).Count)
	if n == 0 || n > len(p) {
		return 0, fs.Errorf(fs.IO, "the server took %d bytes of %d", n, len(p))
	}
	return n, nil
}

func (r *remote) Sync(ctx context.Context) error {
	return r.fail("sync", r.wstat(ctx, keepStat()))
}

func (r *remote) Truncate(ctx context.Context, size int64) error {
	return r.fail("truncate", r.change(ctx, fs.Change{Size: &size}))
}

func (r *remote) Change(ctx context.Context, c fs.Change) error {
	return r.fail("change", r.change(ctx, c))
}

func (r *remote) change(ctx context.Context, c fs.Change) error {
	st := keepStat()
	if c.Size != nil {
		if *c.Size < 0 {
			return fs.Invalid
		}
		st.Length = uint64(*c.Size)
	}
	if c.MTime != nil {
		st.Mtime = toWireTime(*c.MTime)
	}
	if c.Mode != nil {
		// The type bits of a wstat must be those that the file has.
		info, err := r.Stat(ctx)
		if err != nil {
			return err
		}
		st.Mode = toWireMode(info.Mode)&^0777 | uint32(c.Mode.Perm())
	}
	if st == keepStat() {
		return nil
	}
	return r.wstat(ctx, st)
}

func (r *remote) Rename(ctx context.Context, dir fs.Fid, name string) error {
	if dir != nil {
		d, ok := dir.(*remote)
		if !ok || d.c != r.c || d.at() != parent(r.at()) {
			return r.fail("rename", fs.Errorf(fs.CrossDevice, "9P2000 renames only within a directory"))
		}
	}
	if err := checkNewName(name); err != nil {
		return r.fail("rename", err)
	}
	st := keepStat()
	st.Name = name
	if err := r.wstat(ctx, st); err != nil {
		return r.fail("rename", err)
	}
	r.moved(path.Join(parent(r.at()), name))
	return nil
}

// parent is the directory of a path in which the root is the empty string.
func parent(p string) string {
	if d := path.Dir(p); d != "." {
		return d
	}
	return ""
}

func (r *remote) Readlink(context.Context) (string, error) {
	return "", r.fail("readlink", fs.Errorf(fs.Invalid, "9P2000 has no symbolic links"))
}

func (r *remote) wstat(ctx context.Context, st proto.Stat) error {
	_, err := r.c.rpc(ctx, proto.Rwstat, nil, func(tag uint16) proto.FCall {
		return &proto.TWstat{Header: header(proto.Twstat, tag), Fid: r.num, Stat: st}
	})
	return err
}
