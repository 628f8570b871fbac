package ninep

import (
	"context"
	iofs "io/fs"
	"math"
	"time"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

func (s *session) stat(ctx context.Context, f *fid, t *proto.TStat) (proto.FCall, error) {
	info, err := f.stat(ctx)
	if err != nil {
		return nil, err
	}
	reply := &proto.RStat{Header: header(proto.Rstat, t.Tag), Stat: toStat(info, s.names)}
	if frameHeader+2+int(reply.ComposeLength()) > int(s.msize) {
		return nil, fs.Errorf(fs.TooBig, "the stat is longer than a message of %d bytes", s.msize)
	}
	return reply, nil
}

// wstat is the write half of stat(5). One that changes nothing commits what has
// been written.
func (s *session) wstat(ctx context.Context, f *fid, t *proto.TWstat) (proto.FCall, error) {
	reply := &proto.RWstat{Header: header(proto.Rwstat, t.Tag)}
	if t.Stat == keepStat() {
		if f.how == 0 || f.dir != nil {
			return reply, nil
		}
		return reply, f.file.Sync(ctx)
	}
	info, err := f.stat(ctx)
	if err != nil {
		return nil, err
	}
	now := toStat(info, s.names)
	if err := checkWstat(&t.Stat, &now); err != nil {
		return nil, err
	}
	if t.Stat.Name == "" || t.Stat.Name == now.Name {
		return reply, s.change(ctx, f, &t.Stat)
	}
	return reply, s.rename(ctx, f, now.Name, &t.Stat)
}

// checkWstat refuses what no wstat changes: it is accepted only as it is. Two
// things are not looked at: an access time, which nothing here keeps, for the
// sake of touch; and muid, where Linux names its user with every rename.
func checkWstat(want, now *proto.Stat) error {
	switch {
	case want.Type != keep16 && want.Type != now.Type,
		want.Dev != keep32 && want.Dev != now.Dev,
		want.Qid != keepStat().Qid && want.Qid.Uid != now.Qid.Uid:
		return fs.Errorf(fs.Fixed, "the type, dev and qid of a file cannot be changed")
	case want.Uid != "" && want.Uid != now.Uid,
		want.Gid != "" && want.Gid != now.Gid:
		return fs.Errorf(fs.Fixed, "the owner and group of a file cannot be changed")
	case want.Mode != keep32 && (want.Mode^now.Mode)&^0777 != 0:
		return fs.Errorf(fs.Fixed, "of the mode only the permission can be changed")
	case want.Length != keep64 && want.Length > math.MaxInt64:
		return fs.TooBig
	case want.Length != keep64 && want.Length != 0 && now.Mode&proto.DMDIR != 0:
		return fs.Errorf(fs.IsDir, "a directory has no length")
	}
	return nil
}

// rename gives f its new name and makes the other changes of want, or none of
// both.
func (s *session) rename(ctx context.Context, f *fid, old string, want *proto.Stat) error {
	if err := checkNewName(want.Name); err != nil {
		return err
	}
	if err := f.file.Rename(ctx, nil, want.Name); err != nil {
		return err
	}
	if err := s.change(ctx, f, want); err != nil {
		f.file.Rename(ctx, nil, old)
		return err
	}
	return nil
}

// change makes the changes of want but for the name. The length of an open file
// is its handle's affair: what is being written may not be the file yet.
func (s *session) change(ctx context.Context, f *fid, want *proto.Stat) error {
	var c fs.Change
	if want.Mode != keep32 {
		mode := iofs.FileMode(want.Mode).Perm()
		c.Mode = &mode
	}
	if want.Mtime != keep32 {
		mtime := time.Unix(int64(want.Mtime), 0)
		c.MTime = &mtime
	}
	if want.Length != keep64 && !f.info.Mode.IsDir() {
		size := int64(want.Length)
		if f.how&fs.Write != 0 {
			if err := f.file.Truncate(ctx, size); err != nil {
				return err
			}
		} else {
			c.Size = &size
		}
	}
	if c == (fs.Change{}) {
		return nil
	}
	return f.file.Change(ctx, c)
}
