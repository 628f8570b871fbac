package ninep

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/knusbaum/go9p/proto"
)

// The limits of a connection.
const (
	maxMsize       = proto.MaxMsgLen // the longest message that the codec decodes
	minMsize       = 256             // below it not even a name fits in a reply
	maxOutstanding = 1024            // reads and writes in progress or waiting
	maxFids        = 4096
	maxWalk        = 16 // MAXWELEM of walk(5)
	maxName        = 255

	frameHeader = 7  // size[4] type[1] tag[2]
	ioHeader    = 24 // IOHDRSZ of intro(5): room for the header of a Twrite

	noTag = 0xFFFF
	noFid = 0xFFFFFFFF
)

var (
	errMalformed = errors.New("malformed message")
	errFraming   = errors.New("message size out of range")
)

// layouts says for each type of message what follows its tag: the digits are
// integers of that many bytes, s a string, q a qid, d data with its count[4], n
// a stat with its size[2], w a list of strings and Q a list of qids, both with
// their count[2].
var layouts = map[uint8]string{
	proto.Tversion: "4s", proto.Rversion: "4s",
	proto.Tauth: "4ss", proto.Rauth: "q",
	proto.Tattach: "44ss", proto.Rattach: "q",
	proto.Rerror: "s",
	proto.Tflush: "2", proto.Rflush: "",
	proto.Twalk: "44w", proto.Rwalk: "Q",
	proto.Topen: "41", proto.Ropen: "q4",
	proto.Tcreate: "4s41", proto.Rcreate: "q4",
	proto.Tread: "484", proto.Rread: "d",
	proto.Twrite: "48d", proto.Rwrite: "4",
	proto.Tclunk: "4", proto.Rclunk: "",
	proto.Tremove: "4", proto.Rremove: "",
	proto.Tstat: "4", proto.Rstat: "n",
	proto.Twstat: "4n", proto.Rwstat: "",
}

// statLayout is what follows the size of a stat.
const statLayout = "24q4448ssss"

// qidSize is the length of a qid: type[1] version[4] path[8].
const qidSize = 13

// isRequest reports whether a type of message is a client's.
func isRequest(kind uint8) bool {
	_, known := layouts[kind]
	return known && kind%2 == 0
}

// checkFrame reports whether every field of a whole frame lies within it, and
// nothing is left over. The codec believes the lengths that it is given.
func checkFrame(frame []byte) error {
	layout, known := layouts[frame[4]]
	rest, ok := skip(frame[frameHeader:], layout)
	if !known || !ok || len(rest) != 0 {
		return errMalformed
	}
	return nil
}

// skip returns what follows the fields of layout in b.
func skip(b []byte, layout string) (rest []byte, ok bool) {
	for i := range len(layout) {
		if b, ok = skipField(b, layout[i]); !ok {
			return nil, false
		}
	}
	return b, true
}

func skipField(b []byte, field byte) ([]byte, bool) {
	switch field {
	case 's':
		return skipCounted(b, 2)
	case 'd':
		return skipCounted(b, 4)
	case 'q':
		return skipBytes(b, qidSize)
	case 'w':
		return skipList(b, "s")
	case 'Q':
		return skipList(b, "q")
	case 'n':
		return skipStat(b)
	}
	return skipBytes(b, uint64(field-'0'))
}

func skipBytes(b []byte, n uint64) ([]byte, bool) {
	if uint64(len(b)) < n {
		return nil, false
	}
	return b[n:], true
}

// skipCounted skips a count of width bytes and that many bytes after it.
func skipCounted(b []byte, width int) ([]byte, bool) {
	if len(b) < width {
		return nil, false
	}
	n := uint64(binary.LittleEndian.Uint16(b))
	if width == 4 {
		n = uint64(binary.LittleEndian.Uint32(b))
	}
	return skipBytes(b[width:], n)
}

func skipList(b []byte, element string) (rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, false
	}
	n := binary.LittleEndian.Uint16(b)
	b = b[2:]
	for range n {
		if b, ok = skip(b, element); !ok {
			return nil, false
		}
	}
	return b, true
}

// skipStat skips the stat of an Rstat or a Twstat, which has two sizes: its own
// and one in front of it.
func skipStat(b []byte) ([]byte, bool) {
	rest, ok := skipCounted(b, 2)
	if !ok || !checkStat(b[2:len(b)-len(rest)]) {
		return nil, false
	}
	return rest, true
}

// checkStat reports whether b is exactly one well-formed stat.
func checkStat(b []byte) bool {
	rest, ok := skipCounted(b, 2)
	if !ok || len(rest) != 0 {
		return false
	}
	rest, ok = skip(b[2:], statLayout)
	return ok && len(rest) == 0
}

// frameReader takes messages from a connection.
type frameReader struct {
	in  *bufio.Reader
	max uint32 // the negotiated msize
	buf []byte
	dec bytes.Reader
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, 8<<10), max: maxMsize}
}

// next returns the next whole frame, which is valid until the call after it. On
// errFraming, nothing after it can be understood; frame is then the header if
// that could be read, and nil otherwise.
func (r *frameReader) next() (frame []byte, err error) {
	r.buf = grow(r.buf, frameHeader)
	if _, err := io.ReadFull(r.in, r.buf[:4]); err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(r.buf)
	if size < frameHeader {
		return nil, errFraming
	}
	if size > r.max {
		if _, err := io.ReadFull(r.in, r.buf[4:frameHeader]); err != nil {
			return nil, errFraming
		}
		return r.buf, errFraming
	}
	r.buf = grow(r.buf, int(size))
	if _, err := io.ReadFull(r.in, r.buf[4:]); err != nil {
		return nil, err
	}
	return r.buf, nil
}

// idle reports whether the next frame has not arrived in whole.
func (r *frameReader) idle() bool {
	size, err := r.in.Peek(min(4, r.in.Buffered()))
	return err != nil || len(size) < 4 ||
		binary.LittleEndian.Uint32(size) > uint32(r.in.Buffered())
}

// decode makes a message of a frame that checkFrame accepted.
func (r *frameReader) decode(frame []byte) (proto.FCall, error) {
	r.dec.Reset(frame)
	return proto.ParseCall(&r.dec)
}

// frameTag is the tag of a frame, or of its header.
func frameTag(frame []byte) uint16 { return binary.LittleEndian.Uint16(frame[5:]) }

// grow returns b with length n, keeping its first bytes.
func grow(b []byte, n int) []byte {
	if n <= cap(b) {
		return b[:n]
	}
	return append(make([]byte, 0, max(n, 512)), b...)[:n]
}
