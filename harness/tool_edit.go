package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

const editSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"oldText":{"type":"string","description":"The text to replace; it must occur exactly once"},` +
	`"newText":{"type":"string","description":"The text to put in its place"}},` +
	`"required":["label","path","oldText","newText"],"additionalProperties":false}`

func editTool(c Computer, w *Writers) Tool {
	return Tool{
		ToolSpec: ToolSpec{
			Name: "edit",
			Description: "Replace one piece of a text file. oldText must match the file exactly, white space included, in exactly one place; " +
				"take in more lines around it if it is not unique. The result shows the change with its line numbers.",
			Schema: json.RawMessage(editSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (Result, error) {
			return edit(ctx, c, w, args)
		},
	}
}

// maxEdit is the largest file that edit takes.
const maxEdit = 10 << 20

// bom marks a text as UTF-8; it is not part of the text.
const bom = "\uFEFF"

func edit(ctx context.Context, c Computer, w *Writers, args json.RawMessage) (Result, error) {
	var a struct {
		Path *string `json:"path"`
		Old  *string `json:"oldText"`
		New  *string `json:"newText"`
	}
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	if a.Path == nil || a.Old == nil || a.New == nil {
		return Result{}, errors.New("bad arguments: path, oldText and newText are needed")
	}
	if err := present("path", *a.Path); err != nil {
		return Result{}, err
	}
	release, err := w.hold(ctx, c, *a.Path)
	if err != nil {
		return Result{}, err
	}
	defer release()
	content, err := readWhole(ctx, c, *a.Path)
	if err != nil {
		return Result{}, err
	}
	ch, err := findChange(content, *a.Old, *a.New)
	if err != nil {
		return Result{}, fmt.Errorf("edit %s: %w", *a.Path, err)
	}
	if err := put(ctx, c, *a.Path, ch.apply()); err != nil {
		return Result{}, err
	}
	return textResult(fmt.Sprintf("Edited %s:\n%s", *a.Path, ch.diff())), nil
}

// readWhole reads a file that is to be edited.
func readWhole(ctx context.Context, c Computer, name string) (string, error) {
	f, err := c.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxEdit+1))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxEdit {
		return "", fmt.Errorf("edit %s: the file is larger than %s; change it with bash", name, size(maxEdit))
	}
	return string(data), nil
}

// change is the replacement of one piece of a text.
type change struct {
	text     string
	at       int // where old begins in text
	old, new string
}

// findChange finds the only place in text where old stands, to be replaced with
// by. Models write lines that end in \n; in a file whose lines end in \r\n they
// mean those.
func findChange(text, old, by string) (change, error) {
	if old == "" {
		return change{}, errors.New("oldText is empty; use write to make a file")
	}
	if old == by {
		return change{}, errors.New("oldText and newText are identical; nothing to do")
	}
	tries := []change{{text: text, old: old, new: by}}
	if n := strings.Count(text, "\r\n"); n > 0 {
		dos := change{text: text, old: dosLines(old), new: dosLines(by)}
		if n == strings.Count(text, "\n") {
			tries = []change{dos, tries[0]}
		} else {
			tries = append(tries, dos)
		}
	}
	for _, ch := range tries {
		switch n := places(text, ch.old); n {
		case 0:
		case 1:
			ch.at = strings.Index(text, ch.old)
			return ch, nil
		default:
			times := fmt.Sprintf("%d times", n)
			if n == maxPlaces {
				times += " or more"
			}
			return change{}, fmt.Errorf("oldText occurs %s; take in more of the lines around it so that it occurs once", times)
		}
	}
	return change{}, errors.New("oldText was not found; it must match the file exactly, white space and line ends included: read the file again")
}

// dosLines is s with \r\n at the end of each line.
func dosLines(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// maxPlaces is how far places counts: a large piece may overlap itself so often
// that counting takes hours.
const maxPlaces = 1000

// places counts where piece stands in text, overlapping places too, up to
// [maxPlaces].
func places(text, piece string) int {
	for n := range maxPlaces {
		i := strings.Index(text, piece)
		if i < 0 {
			return n
		}
		text = text[i+1:]
	}
	return maxPlaces
}

// apply returns the changed text.
func (c change) apply() string {
	return c.text[:c.at] + c.new + c.text[c.at+len(c.old):]
}
