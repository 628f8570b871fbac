package modeltest

import (
	"bytes"
	"encoding/base64"
	"image"
	_ "image/gif" // the formats that servers take
	_ "image/jpeg"
	"image/png"
	"net/http"

	_ "golang.org/x/image/webp"
)

// What a server finds wrong with an image.
const (
	noBase64   = "no base64"
	otherType  = "another type"
	noImage    = "no image"
	wholeImage = ""
)

// maxDecoded is the largest file that is decoded wholly, to keep tests short.
const maxDecoded = 1 << 20

// look decodes an image as a server does and says what is wrong with it.
func look(mediaType, data string) (width, height int, flaw string) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return 0, 0, noBase64
	}
	if http.DetectContentType(raw) != mediaType {
		return 0, 0, otherType
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return 0, 0, noImage
	}
	if len(raw) <= maxDecoded && max(c.Width, c.Height) <= anthropicSide { // more pixels are refused as they are
		if _, _, err := image.Decode(bytes.NewReader(raw)); err != nil {
			return 0, 0, noImage
		}
	}
	return c.Width, c.Height, wholeImage
}

// goodImage reports whether data is base64 of a whole image of that type.
func goodImage(mediaType, data string) bool {
	_, _, flaw := look(mediaType, data)
	return flaw == wholeImage
}

// PNG is a PNG file of that size, as base64.
func PNG(width, height int) string {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))) // a buffer cannot fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
