package harness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"

	"mikan/harness/picture"
	"mikan/wire"
)

const readSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"offset":{"type":"integer","description":"The first line to read, counted from 1"},` +
	`"limit":{"type":"integer","description":"How many lines to read"}},` +
	`"required":["label","path"],"additionalProperties":false}`

func readTool(c Computer) Tool {
	return Tool{
		ToolSpec: ToolSpec{
			Name: "read",
			Description: "Read a text file or look at an image (jpg, png, gif, webp). " +
				"A text is cut to its first 2000 lines or 50 KB; offset and limit read on.",
			Schema: json.RawMessage(readSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			return read(ctx, c, args)
		},
	}
}

// sniffed is how much of a file is looked at to see what it is.
const sniffed = 8 * 1024

func read(ctx context.Context, c Computer, args json.RawMessage) (Result, error) {
	var a struct {
		Path   string `json:"path"`
		Offset number `json:"offset"`
		Limit  number `json:"limit"`
	}
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	if err := present("path", a.Path); err != nil {
		return Result{}, err
	}
	f, err := c.Open(ctx, a.Path)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	head, err := r.Peek(sniffed)
	if err != nil && err != io.EOF {
		return Result{}, fmt.Errorf("read %s: %w", a.Path, err)
	}
	if picture.Type(head) != "" {
		return readImage(ctx, a.Path, r)
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return textResult(fmt.Sprintf("[%s is a binary file of %s; look into it with bash: file, strings, xxd]", path.Base(a.Path), size(f.Size()))), nil
	}
	e, err := readExcerpt(ctx, r, a.Offset.or(1), a.Limit.or(maxLines))
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", a.Path, err)
	}
	return e.result(a.Path, a.Offset.or(1))
}

// result shows the excerpt of the file name that was asked for from line offset
// on.
func (e excerpt) result(name string, offset int) (Result, error) {
	switch {
	case e.total == 0 && offset == 1:
		return textResult("[the file is empty]"), nil
	case offset > e.total:
		return Result{}, fmt.Errorf("offset %d is beyond the end of the file, which has %d lines", offset, e.total)
	case e.long > 0:
		return textResult(fmt.Sprintf("[Line %d is %s long, more than the limit of %s. Use bash: sed -n %dp %s | head -c %d]",
			offset, size(e.long), size(maxBytes), offset, quote(name), maxBytes)), nil
	case e.all && e.last == e.total:
		return textResult(e.text), nil
	}
	of := fmt.Sprintf("of %d", e.total)
	if !e.all {
		of = fmt.Sprintf("of more than %d", e.total)
	}
	return textResult(fmt.Sprintf("%s\n\n[Lines %d-%d %s. Read on with offset=%d]", e.text, offset, e.last, of, e.last+1)), nil
}

func textResult(s string) Result { return Result{Content: []wire.Part{wire.TextPart(s)}} }
