package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
)

// Limits are what a model takes of one image.
type Limits struct {
	Side  int // pixels of its longer side; a larger image is scaled down to that
	Bytes int // of the file, in base64
}

// Picture is an image file that fits.
type Picture struct {
	Type          string // image/png, image/jpeg or image/webp
	Data          []byte
	Width, Height int
}

// Fit makes an image file fit the limits. One that fits as it is stays so, byte
// for byte. A moving one becomes its first frame, and a photograph is put
// upright. The error says in a few words why the image cannot be used, or is that
// of ctx: images are decoded one after the other, so that no more than one is in
// memory.
func Fit(ctx context.Context, data []byte, l Limits) (Picture, error) {
	select {
	case decoding <- struct{}{}:
		defer func() { <-decoding }()
	case <-ctx.Done():
		return Picture{}, context.Cause(ctx)
	}
	img, format, err := decode(data)
	if err != nil {
		return Picture{}, err
	}
	size := img.Bounds().Size()
	p := Picture{Type: "image/" + format, Data: data, Width: size.X, Height: size.Y}
	_, cmyk := img.(*image.CMYK)
	turned := 1
	if format == "jpeg" {
		turned = orientation(data)
	}
	small := max(size.X, size.Y) <= l.Side && base64.StdEncoding.EncodedLen(len(data)) <= l.Bytes
	if small && format != "gif" && !cmyk && turned == 1 {
		return p, nil
	}
	return encode(img, format, turned, l)
}

// decoding is full while an image is decoded.
var decoding = make(chan struct{}, 1)

// maxDecoded is how many bytes an image may take in memory.
const maxDecoded = 256 << 20

var errNoImage = errors.New("not a PNG, JPEG, GIF or WebP image")

// decode decodes an image that does not take too much memory for that.
func decode(data []byte) (image.Image, string, error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, "", errNoImage
	}
	if c.Width <= 0 || c.Height <= 0 {
		return nil, "", errors.New("it has no pixels")
	}
	if most := maxDecoded / perPixel(data, format, c.ColorModel); c.Width > most/c.Height {
		return nil, "", fmt.Errorf("%dx%d pixels are more than can be scaled down here", c.Width, c.Height)
	}
	if format == "jpeg" && passes(data) > maxPasses {
		return nil, "", fmt.Errorf("it draws its pixels more than %d times over", maxPasses)
	}
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, "", fmt.Errorf("it cannot be decoded (%w)", err)
	}
	if img.Bounds().Empty() {
		return nil, "", errors.New("it has no pixels")
	}
	return img, format, nil
}

// perPixel is how many bytes a decoder takes for a pixel, at most.
func perPixel(data []byte, format string, m color.Model) int {
	switch {
	case format == "jpeg" && isProgressive(data):
		return 4 + 4*4
	case format == "jpeg":
		return 4
	}
	if _, paletted := m.(color.Palette); paletted {
		return 2 // once more for an interlaced one
	}
	switch m {
	case color.GrayModel:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 16
	}
	return 8
}
