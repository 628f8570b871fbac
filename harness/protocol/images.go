package protocol

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // the formats that servers take
	_ "image/jpeg"
	_ "image/png"
	"io"
	"slices"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// What servers take of images; the strictest of each.
const (
	imageSide     = 8000 // pixels
	manyImages    = 20   // beyond so many, imageSideMany holds
	imageSideMany = 2000
)

// limitImages puts a line of text in the place of every image that the server
// would refuse the whole request for, and of the oldest if there are more than it
// takes or than there is room for, in bytes.
func limitImages(msgs []wire.Message, m harness.Model, room int) {
	if !slices.Contains(m.Input, wire.Image) {
		eachImage(msgs, func(p *wire.Part) { leaveOut(p, "this model takes text only") })
		return
	}
	caps, count := capsOf(m), 0
	var good []*wire.Part // newest first
	eachImage(msgs, func(p *wire.Part) {
		side := imageSide
		if count++; count > manyImages {
			side = imageSideMany
		}
		if why := checkImage(p, side, caps.ImageBytes); why != "" {
			leaveOut(p, why)
			return
		}
		good = append(good, p)
	})
	for _, p := range good[newest(good, caps.Images, room):] {
		leaveOut(p, "the newer ones fill the request")
	}
}

// outAtOnce is how many images are left out at a time, so that the beginning of
// the request, which the server has cached, stays the same for a while.
const outAtOnce = 8

// newest is how many of images, newest first, there is room for.
func newest(images []*wire.Part, most, room int) int {
	n := 0
	for n < min(len(images), most) && room >= len(images[n].Data) {
		room -= len(images[n].Data)
		n++
	}
	if out := len(images) - n; out > 0 && n > outAtOnce {
		n -= (outAtOnce - out%outAtOnce) % outAtOnce
	}
	return n
}

// eachImage calls f with the images of msgs, newest first.
func eachImage(msgs []wire.Message, f func(*wire.Part)) {
	for i := len(msgs) - 1; i >= 0; i-- {
		for j := len(msgs[i].Content) - 1; j >= 0; j-- {
			if p := &msgs[i].Content[j]; p.Type == wire.Image {
				f(p)
			}
		}
	}
}

func leaveOut(p *wire.Part, why string) { *p = wire.TextPart("[image left out: " + why + "]") }

// checkImage says why a server would refuse p, and sets its true type.
func checkImage(p *wire.Part, side, most int) string {
	if len(p.Data) > most {
		return fmt.Sprintf("larger than %.1f MiB", float64(most)/(1<<20))
	}
	format, width, height, ok := describe(p.Data)
	if !ok {
		return "not a PNG, JPEG, GIF or WebP file"
	}
	if width > side || height > side {
		return fmt.Sprintf("%dx%d pixels, more than %d", width, height, side)
	}
	p.MimeType = "image/" + format
	return ""
}

// describe reads the head of an image in base64.
func describe(data string) (format string, width, height int, ok bool) {
	if _, err := io.Copy(io.Discard, base64.NewDecoder(base64.StdEncoding.Strict(), strings.NewReader(data))); err != nil ||
		strings.ContainsAny(data, "\r\n") {
		return "", 0, 0, false
	}
	head, _ := io.ReadAll(io.LimitReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), 30))
	if w, h, ok := webp(head); ok {
		return "webp", w, h, true
	}
	c, format, err := image.DecodeConfig(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
	return format, c.Width, c.Height, err == nil
}

// webp reads the size out of the first 30 bytes of a WebP file (RFC 9649).
func webp(h []byte) (width, height int, ok bool) {
	if len(h) < 30 || !bytes.Equal(h[:4], []byte("RIFF")) || !bytes.Equal(h[8:12], []byte("WEBP")) {
		return 0, 0, false
	}
	switch string(h[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(h[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(h[28:]) & 0x3fff), true
	case "VP8L":
		bits := binary.LittleEndian.Uint32(h[21:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, true
	case "VP8X":
		return 1 + int(h[24]) + int(h[25])<<8 + int(h[26])<<16, 1 + int(h[27]) + int(h[28])<<8 + int(h[29])<<16, true
	}
	return 0, 0, false
}
