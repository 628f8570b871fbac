package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mikan/harness"
	"mikan/wire"
)

const (
	outputDir = "mcp-output" // below .mikan
	maxImages = 8            // of a result that are looked at, for the model to see
	maxFiles  = 32           // of a result that are kept
	maxLabel  = 256          // bytes of the name of an image
)

// keeper makes a server's result into one that the model can be shown.
type keeper struct {
	ctx      context.Context
	computer harness.Computer
	secrets  secrets

	texts  []string
	images []wire.Part
	tried  int // images
	files  int
}

// add takes what the server gave back.
func (k *keeper) add(r *sdk.CallToolResult) {
	for _, c := range r.Content {
		switch c := c.(type) {
		case *sdk.TextContent:
			k.say("%s", c.Text)
		case *sdk.ImageContent:
			k.image("image", c.MIMEType, c.Data)
		case *sdk.AudioContent:
			k.file("audio", c.MIMEType, c.Data)
		case *sdk.ResourceLink:
			k.say("[%s] %s %s", c.URI, c.Name, c.Description)
		case *sdk.EmbeddedResource:
			k.resource(c.Resource)
		}
	}
	if len(k.texts) == 0 && r.StructuredContent != nil {
		k.say("%s", readable(r.StructuredContent))
	}
}

// readable is a value as JSON for a reader, with <, > and & as they are.
func readable(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // it came as JSON
	return b.String()
}

func (k *keeper) say(format string, args ...any) {
	k.texts = append(k.texts, strings.ToValidUTF8(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\uFFFD"))
}

func (k *keeper) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob == nil:
		k.say("[%s]\n%s", r.URI, r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		k.image(r.URI, r.MIMEType, r.Blob)
	default:
		k.file(r.URI, r.MIMEType, r.Blob)
	}
}

// image shows an image, or keeps it in a file if a provider would not take it.
// Those that turn out to be none count too: to find out takes time.
func (k *keeper) image(name, mime string, data []byte) {
	if k.tried++; k.tried <= maxImages {
		name := clip(k.secrets.hideIn(name), maxLabel)
		if parts, err := harness.Picture(k.ctx, name, data); err == nil {
			k.images = append(k.images, parts...)
			return
		}
	}
	k.file(name, mime, data)
}

// extensions are those that files of some sorts have.
var extensions = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp", "image/svg+xml": ".svg",
	"audio/wav": ".wav", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "application/pdf": ".pdf", "application/zip": ".zip",
}

// file keeps what the model cannot be shown.
func (k *keeper) file(name, mime string, data []byte) {
	if k.files++; k.files > maxFiles {
		k.say("[%s: left out, the result has more than %d files]", name, maxFiles)
		return
	}
	ext := extensions[mime]
	if ext == "" {
		ext = ".bin"
	}
	path, err := harness.Keep(k.ctx, k.computer, outputDir, ext, data)
	if err != nil {
		k.say("[%s (%s, %d bytes) could not be kept: %v]", name, mime, len(data), err)
		return
	}
	k.say("[%s (%s, %d bytes): %s]", name, mime, len(data), path)
}

// result is all of it.
func (k *keeper) result() (r harness.Result) {
	if len(k.texts) > 0 {
		text := k.secrets.hideIn(strings.Join(k.texts, "\n"))
		r.Content = append(r.Content, wire.TextPart(harness.Bounded(k.ctx, k.computer, outputDir, text)))
	}
	r.Content = append(r.Content, k.images...)
	return r
}
