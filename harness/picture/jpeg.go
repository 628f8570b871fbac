package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"iter"
)

// The segments of a JPEG file that matter here, by their second byte.
const (
	progressive = 0xc2 // the frame of a file that is drawn several times over
	application = 0xe1 // where Exif data are
	scan        = 0xda // the pixels follow
	restart     = 0xd0 // the first of eight that stand among pixels
	endOfImage  = 0xd9
)

// segments are those of a JPEG file up to its end; the pixels behind those of the
// kind scan are passed over.
func segments(data []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for i := 2; i+4 <= len(data); {
			kind := data[i+1]
			if data[i] != 0xff || kind == 0 || kind == 0xff || restart <= kind && kind < restart+8 {
				i++ // among pixels, or nothing that a decoder heeds
				continue
			}
			end := i + 2 + int(binary.BigEndian.Uint16(data[i+2:]))
			if kind == endOfImage || end > len(data) || end < i+4 || !yield(kind, data[i+4:end]) {
				return
			}
			i = end
		}
	}
}

// maxPasses is how often a file may draw its pixels: ten times are usual, and a
// small file that does so a million times would keep a decoder busy for hours.
const maxPasses = 64

// passes is how often a JPEG file draws its pixels.
func passes(data []byte) (n int) {
	for kind := range segments(data) {
		if kind == scan {
			n++
		}
	}
	return n
}

// isProgressive reports whether a decoder keeps the coefficients of all pixels.
func isProgressive(data []byte) bool {
	for kind := range segments(data) {
		if kind == progressive {
			return true
		}
	}
	return false
}

// orientation is what a JPEG file's Exif data say of how the camera was held: 1
// to 8, where 1 is upright. Models look at the pixels as they are stored.
func orientation(data []byte) int {
	for kind, body := range segments(data) {
		if tiff, ok := bytes.CutPrefix(body, []byte("Exif\x00\x00")); ok && kind == application {
			return tiffOrientation(tiff)
		}
	}
	return 1
}

// tiffOrientation reads the orientation among the first entries of a TIFF file.
func tiffOrientation(tiff []byte) int {
	const tag, entry = 0x0112, 12
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.BigEndian
	if tiff[0] == 'I' {
		order = binary.LittleEndian
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 1
	}
	count, list := int(order.Uint16(tiff[at:])), tiff[at+2:]
	for ; count > 0 && len(list) >= entry; count, list = count-1, list[entry:] {
		if o := int(order.Uint16(list[8:])); order.Uint16(list) == tag && o >= 1 && o <= 8 {
			return o
		}
	}
	return 1
}

// upright turns an image that has an [orientation].
func upright(img image.Image, orientation int) image.Image {
	if orientation == 1 {
		return img
	}
	b := img.Bounds()
	w, h := b.Dx(), b.Dy()
	size := image.Pt(w, h)
	if orientation >= 5 {
		size = image.Pt(h, w)
	}
	dst := image.NewRGBA(image.Rectangle{Max: size})
	for y := range h {
		for x := range w {
			right, down := w-1-x, h-1-y // from the other side
			to := [...]image.Point{2: {right, y}, 3: {right, down}, 4: {x, down}, 5: {y, x}, 6: {down, x}, 7: {down, right}, 8: {y, right}}[orientation]
			dst.Set(to.X, to.Y, img.At(b.Min.X+x, b.Min.Y+y))
		}
	}
	return dst
}
