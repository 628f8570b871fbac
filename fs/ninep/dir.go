package ninep

import (
	"context"
	"encoding/binary"

	"mikan/fs"
)

// listing is a directory as it was when the client began to read it, encoded.
type listing struct {
	data []byte
	next uint64 // where the last read ended
	left int    // what the last read asked for and did not get
	used bool   // something was read: another read at 0 lists anew
}

// list takes a listing of f, which is also the check that it may be read.
func (s *session) list(ctx context.Context, f *fid) (*listing, error) {
	entries, err := f.file.ReadDir(ctx)
	if err != nil {
		return nil, err
	}
	l := &listing{}
	for _, e := range entries {
		st := toStat(resolve(ctx, f.file, e.Name, e), s.names)
		l.data = append(l.data, st.Compose()...)
	}
	return l, nil
}

// readDir is a read of a directory (read(5)): whole entries, from the start or
// from where the last read ended.
func (s *session) readDir(ctx context.Context, f *fid, off uint64, count int) ([]byte, error) {
	if s.who != nil {
		if err := s.who.Valid(); err != nil {
			return nil, err
		}
	}
	if off == 0 && f.dir.used {
		dir, err := s.list(ctx, f)
		if err != nil {
			return nil, err
		}
		f.dir = dir
	}
	l := f.dir
	if off != 0 && off != l.next {
		return nil, fs.Errorf(fs.Invalid, "a directory is read from 0 or from %d, where the last read ended", l.next)
	}
	data, err := l.entries(off, count)
	if err != nil {
		return nil, err
	}
	l.used, l.next, l.left = true, off+uint64(len(data)), count-len(data)
	return data, nil
}

// entries is the whole entries that fit in count bytes from off. Where none
// fits it is an error, which nothing else would show: an empty read is the end.
// But Linux wants its buffer full and asks for the rest of it; to that there is
// no answer but nothing, and then it goes on with another buffer.
func (l *listing) entries(off uint64, count int) ([]byte, error) {
	rest := l.data[off:]
	n := 0
	for n < len(rest) {
		end := n + 2 + int(binary.LittleEndian.Uint16(rest[n:]))
		if end > count {
			break
		}
		n = end
	}
	if n == 0 && len(rest) > 0 && (off == 0 || count != l.left) {
		return nil, fs.Errorf(fs.Invalid, "a count of %d holds no directory entry; read more at once", count)
	}
	return rest[:n], nil
}
