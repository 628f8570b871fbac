package modeltest

import (
	"fmt"
	"slices"
)

// What the Messages API takes of images.
const (
	anthropicImages = 100     // of a request
	anthropicImage  = 5 << 20 // bytes of one, as base64
	anthropicSide   = 8000    // pixels
	anthropicMany   = 20      // if there are more, they may have only
	anthropicSides  = 2000    // pixels
)

var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// checkImages looks at the images of prompts and of results.
func (r anthropicRequest) checkImages(terms Terms) string {
	var all []anthropicBlock
	var at []string
	collect := func(where string, b anthropicBlock) {
		if b.Type == "image" {
			all, at = append(all, b), append(at, where)
		}
	}
	for i, m := range r.Messages {
		for j, b := range m.Content {
			where := fmt.Sprintf("messages.%d.content.%d", i, j)
			collect(where, b)
			for k, c := range b.inner() {
				collect(fmt.Sprintf("%s.tool_result.content.%d", where, k), c)
			}
		}
	}
	switch {
	case len(all) > 0 && terms.TextOnly:
		return fmt.Sprintf("'%s' does not support image input.", r.Model)
	case len(all) > anthropicImages:
		return fmt.Sprintf("messages: too many images: %d > %d", len(all), anthropicImages)
	}
	for n, b := range all {
		if text := b.checkImage(at[n]+".image.source.base64", len(all) > anthropicMany); text != "" {
			return text
		}
	}
	return ""
}

func (b anthropicBlock) checkImage(at string, many bool) string {
	switch {
	case b.Source == nil || b.Source.Type != "base64":
		return at + ": Field required"
	case !slices.Contains(imageTypes, b.Source.MediaType):
		return at + ".media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
	case len(b.Source.Data) > anthropicImage:
		return fmt.Sprintf("%s: image exceeds 5 MB maximum: %d bytes > %d bytes", at, len(b.Source.Data), anthropicImage)
	}
	width, height, flaw := look(b.Source.MediaType, b.Source.Data)
	switch {
	case flaw == noBase64:
		return at + ": invalid base64 data"
	case flaw == otherType:
		return fmt.Sprintf("%s: The image was specified using the %s media type, but the image appears to be of another type", at, b.Source.MediaType)
	case flaw == noImage:
		return "Could not process image"
	case max(width, height) > anthropicSide:
		return fmt.Sprintf("%s.data: At least one of the image dimensions exceed max allowed size: %d pixels", at, anthropicSide)
	case many && max(width, height) > anthropicSides:
		return fmt.Sprintf("%s.data: At least one of the image dimensions exceed max allowed size for many-image requests: %d pixels", at, anthropicSides)
	}
	return ""
}
