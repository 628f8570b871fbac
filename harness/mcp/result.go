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
	maxImages = 8            // of a result that the model sees
	maxFiles  = 32           // of a result that are kept
)

// keeper makes a server's result into one that the model can be shown.
type keeper struct {
	ctx      context.Context
	computer harness.Computer
	secrets  secrets

	texts  []string
	images []wire.Part
	shown  int
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
		text, _ := json.MarshalIndent(r.StructuredContent, "", "  ") // it came as JSON
		k.say("%s", text)
	}
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
func (k *keeper) image(name, mime string, data []byte) {
	parts, err := harness.Picture(k.ctx, name, data)
	if err != nil || k.shown == maxImages {
		k.file(name, mime, data)
		return
	}
	k.shown++
	k.images = append(k.images, parts...)
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
