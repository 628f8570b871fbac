package picture

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif" // the formats that are read
	"image/jpeg"
	"image/png"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp"
)

// qualities of a JPEG file, the next one if a file is too large.
var qualities = []int{85, 60}

// encode scales img down and writes it as a file that fits: what was a JPEG file
// as one, the rest as PNG, which keeps small letters sharp, unless that is too
// large.
func encode(img image.Image, format string, orientation int, l Limits) (Picture, error) {
	for side := l.Side; side > 0; side /= 2 {
		small := upright(scale(img, side), orientation)
		p := Picture{Width: small.Bounds().Dx(), Height: small.Bounds().Dy()}
		var b bytes.Buffer
		fits := func(kind string, err error) bool {
			p.Type, p.Data = kind, b.Bytes()
			return err == nil && base64.StdEncoding.EncodedLen(b.Len()) <= l.Bytes
		}
		if format != "jpeg" && fits("image/png", png.Encode(&b, small)) {
			return p, nil
		}
		flat := opaque(small)
		for _, q := range qualities {
			b.Reset()
			if fits("image/jpeg", jpeg.Encode(&b, flat, &jpeg.Options{Quality: q})) {
				return p, nil
			}
		}
	}
	return Picture{}, fmt.Errorf("it cannot be made smaller than %d bytes", l.Bytes)
}

// scale returns img with sides of at most side pixels. It halves first: each
// pixel is then the mean of four, and no line gets lost.
func scale(img image.Image, side int) image.Image {
	w, h := fitted(img.Bounds().Size(), side)
	for {
		size := img.Bounds().Size()
		if size.X == w && size.Y == h {
			return img
		}
		to := image.Rect(0, 0, max(w, (size.X+1)/2), max(h, (size.Y+1)/2))
		dst := image.NewRGBA(to)
		draw.ApproxBiLinear.Scale(dst, to, img, img.Bounds(), draw.Src, nil)
		img = dst
	}
}

// fitted is size, made smaller if need be, with its proportions kept.
func fitted(size image.Point, side int) (w, h int) {
	long := max(size.X, size.Y)
	if long <= side {
		return size.X, size.Y
	}
	return max(1, size.X*side/long), max(1, size.Y*side/long)
}

// opaque puts img on white: a JPEG file has no transparency.
func opaque(img image.Image) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	dst := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(dst, dst.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(dst, dst.Bounds(), img, img.Bounds().Min, draw.Over)
	return dst
}
