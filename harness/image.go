package harness

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"path"
	"slices"

	"mikan/harness/picture"
	"mikan/wire"
)

// maxImageFile is the largest image file that is read, in bytes.
const maxImageFile = 32 << 20

// images are what the models of an API look at; they scale down what is larger,
// which then costs time and bytes for nothing.
var images = map[string]picture.Limits{
	"anthropic-messages": {Side: 1568, Bytes: 5 << 20},
}

// imagesOfOthers are for all other models: 2000 pixels are what a server takes
// that is given many images.
var imagesOfOthers = picture.Limits{Side: 2000, Bytes: 5 << 20}

// imageLimits are what m takes of an image.
func (m Model) imageLimits() picture.Limits {
	l, ok := images[m.API]
	if !ok {
		l = imagesOfOthers
	}
	l.Bytes = cmp.Or(m.Caps.ImageBytes, l.Bytes)
	return l
}

// fit makes the images of a message fit the model before the message becomes
// part of the history. One that cannot be used becomes a line of text: a server
// would refuse it, and with it the whole session.
func (l *loop) fit(ctx context.Context, m *wire.Message) {
	isImage := func(p wire.Part) bool { return p.Type == wire.Image }
	if !slices.ContainsFunc(m.Content, isImage) {
		return
	}
	m.Content = slices.Clone(m.Content)
	for i, p := range m.Content {
		if isImage(p) {
			m.Content[i] = fitImage(ctx, p, l.Model.imageLimits())
		}
	}
}

func fitImage(ctx context.Context, p wire.Part, l picture.Limits) wire.Part {
	if len(p.Data) > base64.StdEncoding.EncodedLen(maxImageFile) {
		return wire.TextPart("[image left out: larger than " + size(maxImageFile) + "]")
	}
	data, err := base64.StdEncoding.DecodeString(p.Data)
	if err != nil {
		return wire.TextPart("[image left out: not base64]")
	}
	fitted, err := picture.Fit(ctx, data, l)
	if err != nil {
		return wire.TextPart("[image left out: " + err.Error() + "]")
	}
	return imagePart(fitted)
}

func imagePart(p picture.Picture) wire.Part {
	return wire.Part{Type: wire.Image, Data: base64.StdEncoding.EncodeToString(p.Data), MimeType: p.Type}
}

// readImage returns the image that r holds and a note before it.
func readImage(ctx context.Context, name string, r io.Reader) (Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImageFile+1))
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxImageFile {
		return Result{}, fmt.Errorf("the image %s is larger than %s; make a smaller one with bash and read that", name, size(maxImageFile))
	}
	p, err := picture.Fit(ctx, data, imagesOfOthers)
	if err != nil {
		return Result{}, fmt.Errorf("the image %s cannot be shown: %w", name, err)
	}
	note := fmt.Sprintf("Image %s (%s, %dx%d, %s)", path.Base(name), p.Type, p.Width, p.Height, size(len(p.Data)))
	return Result{Content: []wire.Part{wire.TextPart(note), imagePart(p)}}, nil
}
