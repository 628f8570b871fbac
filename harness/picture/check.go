package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
)

// Info is what an image file says of itself.
type Info struct {
	Type          string // image/png, image/jpeg, image/gif or image/webp
	Width, Height int
	Bytes         int // of the file
}

// Check looks at an image in base64 without decoding its pixels, and reports
// false for one that no model's server takes: it is of no known format, or its
// end is missing.
func Check(data string) (Info, bool) {
	raw, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || base64.StdEncoding.EncodedLen(len(raw)) != len(data) { // it holds line ends
		return Info{}, false
	}
	c, format, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil || !whole(raw, format) {
		return Info{}, false
	}
	return Info{"image/" + format, c.Width, c.Height, len(raw)}, true
}

// whole reports whether a file has its end.
func whole(raw []byte, format string) bool {
	switch format {
	case "png":
		return wholePNG(raw)
	case "jpeg":
		return bytes.Contains(raw, []byte{0xff, 0xd9})
	case "gif":
		return bytes.LastIndexByte(raw, 0x3b) > 0
	case "webp":
		return len(raw) >= 12 && uint64(binary.LittleEndian.Uint32(raw[4:]))+8 <= uint64(len(raw))
	}
	return false
}

// wholePNG reports whether the chunks of a PNG file are as they were written, up
// to the last one.
func wholePNG(raw []byte) bool {
	for rest := raw[8:]; len(rest) >= 12; {
		n := uint64(binary.BigEndian.Uint32(rest))
		if n+12 > uint64(len(rest)) {
			return false
		}
		body, sum := rest[4:8+n], binary.BigEndian.Uint32(rest[8+n:])
		if crc32.ChecksumIEEE(body) != sum {
			return false
		}
		if string(body[:4]) == "IEND" {
			return true
		}
		rest = rest[12+n:]
	}
	return false
}

// Type is the MIME type of an image file that begins with head, or empty. The
// content counts, as for the servers, not the name.
func Type(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF87a")), bytes.HasPrefix(head, []byte("GIF89a")):
		return "image/gif"
	case len(head) >= 16 && string(head[:4]) == "RIFF" && string(head[8:14]) == "WEBPVP":
		return "image/webp"
	}
	return ""
}
