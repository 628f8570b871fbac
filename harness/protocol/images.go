package protocol

import (
	"fmt"
	"slices"

	"mikan/harness"
	"mikan/harness/picture"
	"mikan/wire"
)

// What servers take of images; the strictest of each.
const (
	imageSide     = 8000 // pixels
	manyImages    = 20   // if there are more, imageSideMany holds for all
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
	caps, total, side := m.Caps.OrCommon(), 0, imageSide
	eachImage(msgs, func(*wire.Part) { total++ })
	if total > manyImages {
		side = imageSideMany
	}
	var good []*wire.Part // newest first
	eachImage(msgs, func(p *wire.Part) {
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
	info, ok := picture.Check(p.Data)
	if !ok {
		return "not a whole PNG, JPEG, GIF or WebP file"
	}
	if info.Width > side || info.Height > side {
		return fmt.Sprintf("%dx%d pixels, more than %d", info.Width, info.Height, side)
	}
	p.MimeType = info.Type
	return ""
}
