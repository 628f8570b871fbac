package modeltest

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
)

// goodImage reports whether data is base64 of an image of that type.
func goodImage(mediaType, data string) bool {
	raw, err := base64.StdEncoding.DecodeString(data)
	return err == nil && http.DetectContentType(raw) == mediaType
}

// PNG is a PNG file of that size, as base64.
func PNG(width, height int) string {
	var b bytes.Buffer
	_ = png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))) // a buffer cannot fail
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
