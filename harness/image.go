package harness

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/gif"  // for their sizes
	_ "image/jpeg" // for their sizes
	_ "image/png"  // for their sizes
	"io"
	"path"

	"mikan/wire"
)

const (
	maxImage = 5 << 20 / 4 * 3 // bytes; 5 MiB once it is base64
	maxSide  = 8000            // pixels
)

// imageType is the MIME type of an image that begins with head and that models
// take, or empty. The content counts, as for them, not the name.
func imageType(head []byte) string {
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

// readImage returns the image as a part of its own and a note beside it. One
// that a provider would refuse, and with it the whole session, is an error.
func readImage(name, mime string, r io.Reader) (Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxImage {
		return Result{}, fmt.Errorf("the image %s is larger than %s; make a smaller one with bash and read that", name, size(maxImage))
	}
	note := fmt.Sprintf("Image %s (%s, %s)", path.Base(name), mime, size(len(data)))
	if mime != "image/webp" { // the standard library cannot read it
		c, _, err := image.DecodeConfig(bytes.NewReader(data))
		switch {
		case err != nil:
			return Result{}, fmt.Errorf("the image %s is damaged: %w", name, err)
		case c.Width > maxSide || c.Height > maxSide:
			return Result{}, fmt.Errorf("the image %s has %dx%d pixels, more than %d on a side; make a smaller one with bash and read that", name, c.Width, c.Height, maxSide)
		}
		note = fmt.Sprintf("Image %s (%s, %dx%d, %s)", path.Base(name), mime, c.Width, c.Height, size(len(data)))
	}
	return Result{Content: []wire.Part{
		wire.TextPart(note),
		{Type: wire.Image, Data: base64.StdEncoding.EncodeToString(data), MimeType: mime},
	}}, nil
}
