package ninep

import (
	"context"
	iofs "io/fs"
	"math"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// The mode of a Topen, beside the constants of package proto.
const (
	accessBits = 3
	oCexec     = 0x20 // close on exec: the client's own affair
)

// streamCount is how much is read of a conversational file at once. Its reads
// block, so their buffers may be many.
const streamCount = 8 << 10

// openFlags translates the mode of open(5). ORCLOSE is refused: nothing here
// should vanish because a connection broke.
func openFlags(mode uint8) (fs.Flags, error) {
	if mode&uint8(proto.Orclose) != 0 {
		return 0, fs.Errorf(fs.NotSupported, "ORCLOSE is not supported; remove the file instead")
	}
	if mode&^uint8(accessBits|uint8(proto.Otrunc)|oCexec) != 0 {
		return 0, fs.Errorf(fs.Invalid, "open mode %#x has unknown bits", mode)
	}
	how := [...]fs.Flags{fs.Read, fs.Write, fs.Read | fs.Write, fs.Read}[mode&accessBits]
	if mode&uint8(proto.Otrunc) != 0 {
		// open(5): truncation needs write permission, whatever the file is opened
		// for. The tree checks it if it is told of a write.
		how |= fs.Truncate | fs.Write
	}
	return how, nil
}

// access is what a fid opened with how may do.
func access(how fs.Flags, mode uint8) fs.Flags {
	switch proto.Mode(mode & accessBits) {
	case proto.Oread, proto.Oexec:
		return how &^ fs.Write
	}
	return how
}

func (s *session) open(ctx context.Context, f *fid, t *proto.TOpen) (proto.FCall, error) {
	if f.how != 0 {
		return nil, fs.Errorf(fs.BadFid, "fid %d is open already", t.Fid)
	}
	how, err := openFlags(uint8(t.Mode))
	if err != nil {
		return nil, err
	}
	if f.info.Mode.IsDir() {
		if err := s.openDir(ctx, f, how); err != nil {
			return nil, err
		}
	} else if err := f.file.Open(ctx, how); err != nil {
		return nil, err
	}
	f.how = access(how, uint8(t.Mode))
	return &proto.ROpen{Header: header(proto.Ropen, t.Tag), Qid: f.qid(ctx)}, nil
}

func (s *session) openDir(ctx context.Context, f *fid, how fs.Flags) error {
	if how != fs.Read {
		return fs.Errorf(fs.IsDir, "a directory can only be opened for reading")
	}
	dir, err := s.list(ctx, f)
	f.dir = dir
	return err
}

// qid is the file's qid now, or the last one known.
func (f *fid) qid(ctx context.Context) proto.Qid {
	if info, err := f.stat(ctx); err == nil {
		return toQid(info)
	}
	return toQid(f.info)
}

// stat describes the file. What a symbolic link leads to is known only from the
// walk, until it is open.
func (f *fid) stat(ctx context.Context) (fs.Info, error) {
	if f.link && (f.how == 0 || f.dir != nil) {
		return f.info, nil
	}
	info, err := f.file.Stat(ctx)
	if f.link {
		info.Name = f.info.Name
	}
	return info, err
}

func (s *session) create(ctx context.Context, f *fid, t *proto.TCreate) (proto.FCall, error) {
	how, err := checkCreate(f, t)
	if err != nil {
		return nil, err
	}
	perm, err := s.createPerm(ctx, f, t.Perm)
	if err != nil {
		return nil, err
	}
	if err := f.file.Create(ctx, t.Name, perm, how); err != nil {
		return nil, err
	}
	f.how = access(how, t.Mode)
	f.info.Name, f.info.Mode = t.Name, perm
	if info, err := f.file.Stat(ctx); err == nil {
		f.info = info
	}
	if perm.IsDir() {
		f.dir = &listing{}
	}
	return &proto.RCreate{Header: header(proto.Rcreate, t.Tag), Qid: toQid(f.info)}, nil
}

func checkCreate(f *fid, t *proto.TCreate) (fs.Flags, error) {
	switch {
	case f.how != 0:
		return 0, fs.Errorf(fs.BadFid, "fid %d is open already", t.Fid)
	case !f.info.Mode.IsDir():
		return 0, fs.NotDir
	}
	if err := checkNewName(t.Name); err != nil {
		return 0, err
	}
	how, err := openFlags(t.Mode)
	if err == nil && t.Perm&proto.DMDIR != 0 && how != fs.Read {
		err = fs.Errorf(fs.IsDir, "a directory can only be created for reading")
	}
	return how, err
}

// createPerm is the permission of a new file: what was asked for, as far as the
// directory has it (open(5)).
func (s *session) createPerm(ctx context.Context, f *fid, asked uint32) (iofs.FileMode, error) {
	const known = proto.DMDIR | proto.DMAPPEND | proto.DMEXCL | proto.DMTMP | 0777
	if asked&^known != 0 {
		return 0, fs.Errorf(fs.NotSupported, "only files and directories can be created, not mode %#o", asked)
	}
	dir, err := f.stat(ctx)
	if err != nil {
		return 0, err
	}
	perm := fromWireMode(asked)
	if perm.IsDir() {
		return iofs.ModeDir | perm.Perm()&dir.Mode.Perm(), nil
	}
	return perm.Perm() & (^iofs.FileMode(0666) | dir.Mode.Perm()&0666), nil
}

func (s *session) read(ctx context.Context, f *fid, t *proto.TRead) (proto.FCall, error) {
	if f.how&fs.Read == 0 {
		return nil, fs.Errorf(fs.BadFid, "fid %d is not open for reading", t.Fid)
	}
	count := int(min(t.Count, s.msize-frameHeader-4))
	reply := &proto.RRead{Header: header(proto.Rread, t.Tag)}
	if f.dir != nil {
		data, err := s.readDir(ctx, f, t.Offset, count)
		reply.Data, reply.Count = data, uint32(len(data))
		return reply, err
	}
	if t.Offset > math.MaxInt64 {
		return reply, nil
	}
	buf := s.buffer(f, count)
	n, err := f.file.Read(ctx, buf, int64(t.Offset))
	if err != nil {
		s.release(buf)
		return nil, err
	}
	reply.Data, reply.Count = buf[:n], uint32(n)
	return reply, nil
}

// buffer is room for a read of count bytes, to be given back by release.
func (s *session) buffer(f *fid, count int) []byte {
	if f.info.Stream() {
		count = min(count, streamCount)
	}
	if count <= streamCount {
		return make([]byte, count)
	}
	return (*s.bufs.Get().(*[]byte))[:count]
}

// release takes back the data of a reply that has been sent.
func (s *session) release(data []byte) {
	if cap(data) == maxMsize {
		data = data[:maxMsize]
		s.bufs.Put(&data)
	}
}

func newBuffer() any {
	b := make([]byte, maxMsize)
	return &b
}

func (s *session) write(ctx context.Context, f *fid, t *proto.TWrite) (proto.FCall, error) {
	switch {
	case f.how&fs.Write == 0:
		return nil, fs.Errorf(fs.BadFid, "fid %d is not open for writing", t.Fid)
	case t.Offset > math.MaxInt64:
		return nil, fs.TooBig
	}
	n, err := f.file.Write(ctx, t.Data, int64(t.Offset))
	if err != nil {
		return nil, err
	}
	return &proto.RWrite{Header: header(proto.Rwrite, t.Tag), Count: uint32(n)}, nil
}
