package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

const writeSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"content":{"type":"string","description":"The whole content of the file"}},` +
	`"required":["label","path","content"],"additionalProperties":false}`

func writeTool(c Computer, w *Writers) Tool {
	return Tool{
		ToolSpec: ToolSpec{
			Name:        "write",
			Description: "Write a file: make it, and its directories, or replace all that it holds. A MEMORY.md that holds something is changed with edit.",
			Schema:      json.RawMessage(writeSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			return write(ctx, c, w, args)
		},
	}
}

func write(ctx context.Context, c Computer, w *Writers, args json.RawMessage) (Result, error) {
	var a struct {
		Path    *string `json:"path"`
		Content *string `json:"content"`
	}
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	if a.Path == nil || a.Content == nil {
		return Result{}, errors.New("bad arguments: path and content are needed")
	}
	if err := present("path", *a.Path); err != nil {
		return Result{}, err
	}
	release, err := w.hold(ctx, c, *a.Path)
	if err != nil {
		return Result{}, err
	}
	defer release()
	if err := spare(ctx, c, *a.Path); err != nil {
		return Result{}, err
	}
	if err := put(ctx, c, *a.Path, *a.Content); err != nil {
		return Result{}, err
	}
	return textResult(fmt.Sprintf("Wrote %d bytes (%d characters) to %s", len(*a.Content), utf8.RuneCountInString(*a.Content), *a.Path)), nil
}

// put makes content what the file name holds, all at once.
func put(ctx context.Context, c Computer, name, content string) error {
	f, err := c.Create(ctx, name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := io.WriteString(f, content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return f.Commit()
}
