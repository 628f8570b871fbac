package ninep

import (
	iofs "io/fs"
	"math"
	"time"

	"github.com/knusbaum/go9p/proto"

	"mikan/fs"
)

// modeBits pairs the type bits of package fs with those of stat(5).
var modeBits = [...]struct {
	fs   iofs.FileMode
	wire uint32
}{
	{iofs.ModeDir, proto.DMDIR},
	{iofs.ModeAppend, proto.DMAPPEND},
	{iofs.ModeExclusive, proto.DMEXCL},
	{iofs.ModeTemporary, proto.DMTMP},
}

func toWireMode(m iofs.FileMode) uint32 {
	w := uint32(m.Perm())
	for _, b := range modeBits {
		if m&b.fs != 0 {
			w |= b.wire
		}
	}
	return w
}

func fromWireMode(w uint32) iofs.FileMode {
	m := iofs.FileMode(w).Perm()
	for _, b := range modeBits {
		if w&b.wire != 0 {
			m |= b.fs
		}
	}
	return m
}

func toQid(i fs.Info) proto.Qid {
	return proto.Qid{Qtype: uint8(toWireMode(i.Mode) >> 24), Vers: i.Version, Uid: i.ID}
}

// toStat is what 9P says about a file. names gives the users' names.
func toStat(i fs.Info, names *names) proto.Stat {
	name := i.Name
	if name == "" {
		name = "/"
	}
	user := names.user(i.UID)
	return proto.Stat{
		Qid:    toQid(i),
		Mode:   toWireMode(i.Mode),
		Atime:  toWireTime(i.MTime),
		Mtime:  toWireTime(i.MTime),
		Length: uint64(max(i.Size, 0)),
		Name:   name,
		Uid:    user,
		Gid:    names.group(i.GID),
		Muid:   user,
	}
}

// fromStat is the reverse of toStat, as far as it goes.
func fromStat(s *proto.Stat, names *names) fs.Info {
	return fs.Info{
		Name:    s.Name,
		Mode:    fromWireMode(s.Mode),
		ID:      s.Qid.Uid,
		Version: s.Qid.Vers,
		Size:    int64(min(s.Length, math.MaxInt64)),
		MTime:   time.Unix(int64(s.Mtime), 0),
		UID:     names.uid(s.Uid),
		GID:     names.gid(s.Gid),
	}
}

// toWireTime is t in seconds; the zero time and what does not fit is 0.
func toWireTime(t time.Time) uint32 {
	if s := t.Unix(); s > 0 && s < math.MaxUint32 {
		return uint32(s)
	}
	return 0
}

// What a wstat says about a field that it leaves alone.
const (
	keep16 = math.MaxUint16
	keep32 = math.MaxUint32
	keep64 = math.MaxUint64
)

// keepStat is the wstat that changes nothing.
func keepStat() proto.Stat {
	return proto.Stat{
		Type:   keep16,
		Dev:    keep32,
		Qid:    proto.Qid{Qtype: math.MaxUint8, Vers: keep32, Uid: keep64},
		Mode:   keep32,
		Atime:  keep32,
		Mtime:  keep32,
		Length: keep64,
	}
}
